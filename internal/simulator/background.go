package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// task is a command that runs on after its turn. Guarded by the loop.
type task struct {
	x           *session
	id          string
	toolCallID  string
	turnID      string
	description string
	outputPath  string
	output      string
	status      string // running, completed, cancelled
	startedAt   int64
	reported    bool // its end has reached the model
	ctx         context.Context
	cancel      context.CancelFunc
}

const (
	taskRunning   = "running"
	taskCompleted = "completed"
	taskCancelled = "cancelled"

	defaultTaskTime = 5 * time.Second
	taskTick        = time.Second
)

// backgroundCommand is a Bash call that returns at once and leaves a task behind.
func backgroundCommand(line, description string, d time.Duration) *toolCall {
	c := &toolCall{name: "Bash", title: description,
		input: object{"command": line, "description": description, "run_in_background": true}}
	c.work = func() toolResult {
		c.base = object{"background": true}
		k := c.t.x.startTask(c, description, d)
		return toolResult{content: "Command running in background with ID: " + k.id + ". Output is being written to: " + k.outputPath}
	}
	return c
}

func (x *session) startTask(c *toolCall, description string, d time.Duration) *task {
	k := &task{x: x, id: "bash_" + x.ids.uuid()[:8], toolCallID: c.id, turnID: c.t.id, description: description,
		status: taskRunning, startedAt: x.s.clock.now()}
	k.outputPath = "/tmp/tasks/" + k.id + ".output"
	k.ctx, k.cancel = context.WithCancel(x.s.ctx)
	x.tasks = append(x.tasks, k)
	k.report()
	turn := c.t
	x.s.spawn(func() { k.run(turn, d) })
	return k
}

// run starts to count once the turn has ended: a background task is one that outlives its turn, at every speed.
func (k *task) run(turn *turn, d time.Duration) {
	x := k.x
	defer k.cancel()
	x.s.yield(func() {
		select {
		case <-turn.done:
		case <-k.ctx.Done():
		}
	})
	ticks := max(int(d/taskTick), 1)
	for i := 1; i <= ticks; i++ {
		if !x.s.work(k.ctx, taskTick) {
			return
		}
		line := fmt.Sprintf("line %d of %d\n", i, ticks)
		k.output += line
		x.inner("task.output", object{"taskId": k.id, "text": strings.TrimSuffix(line, "\n")})
		k.report()
	}
	k.status = taskCompleted
	k.report()
	k.tellModel()
}

// report shows the task's state in the event stream.
func (k *task) report() {
	o := k.job()
	if k.output != "" {
		o["outputTail"] = k.output[max(0, len(k.output)-200):]
	}
	k.x.emitted(source{kind: "session.updated", turnID: k.turnID, payload: o})
}

func (k *task) job() object {
	return object{"taskId": k.id, "toolCallId": k.toolCallID, "toolName": "Bash", "status": k.status, "description": k.description,
		"outputPath": k.outputPath, "pid": simulatedPid, "startedAt": k.startedAt}
}

// tellModel starts a turn that nobody typed: the model learns that the task is done. It waits until the session is free.
func (k *task) tellModel() {
	x := k.x
	for x.turn != nil && k.ctx.Err() == nil {
		running := x.turn
		x.s.yield(func() {
			select {
			case <-running.done:
			case <-k.ctx.Done():
			}
		})
	}
	if k.ctx.Err() != nil || x.closed || x.s.ending() {
		return
	}
	lines := strconv.Itoa(len(k.output) / len("line 1 of 1\n"))
	t := x.newTurn(turnInput{text: "Background task " + k.id + " has completed.", source: "background_task", hidden: true, silent: true,
		background: object{"taskId": k.id, "toolCallId": k.toolCallID, "status": k.status}}, turnRegular,
		func(t *turn) {
			t.step(func(m *step) { m.say("The background command has finished and printed " + lines + " lines.") })
		}, "")
	t.run()
}

func (x *session) runsTasks() bool {
	return slices.ContainsFunc(x.tasks, func(k *task) bool { return k.status == taskRunning })
}

func (x *session) backgroundJobs() []object {
	jobs := []object{}
	for _, k := range x.tasks {
		if k.status == taskRunning {
			jobs = append(jobs, k.job())
		}
	}
	return jobs
}

var cancelTaskShape = strict(req("sessionId", nonEmpty), req("taskId", nonEmpty))

func (x *session) answerCancelTask(r *request, p sessionParams) (any, *fault) {
	if _, err := x.cancelTask(p.TaskID); err != nil {
		status := "lost"
		if i := slices.IndexFunc(x.tasks, func(k *task) bool { return k.id == p.TaskID }); i >= 0 {
			status = x.tasks[i].status
		}
		return object{"cancelled": false, "reason": err.Error(), "status": status, "taskId": p.TaskID}, nil
	}
	return object{"cancelled": true, "status": taskCancelled, "taskId": p.TaskID, "snapshot": x.snapshot(x.Messages)}, nil
}

var (
	errTaskUnknown = errors.New("background_task_not_found")
	errTaskEnded   = errors.New("background_task_not_running")
)

// cancelTask ends a background command, or says why that cannot be: in a word for codes, and as the error.
func (x *session) cancelTask(id string) (string, error) {
	i := slices.IndexFunc(x.tasks, func(k *task) bool { return k.id == id })
	if i < 0 {
		return "not_found", errTaskUnknown
	}
	k := x.tasks[i]
	if k.status != taskRunning {
		return "not_running", errTaskEnded
	}
	k.status = taskCancelled
	k.cancel()
	k.report()
	x.stateUpdated("background_task_cancelled", object{"backgroundJobs": x.backgroundJobs()})
	return "", nil
}

// endTasks stops what runs on behalf of a session that is closed.
func (x *session) endTasks() {
	for _, k := range x.tasks {
		if k.status == taskRunning {
			k.status = taskCancelled
			k.cancel()
		}
	}
}
