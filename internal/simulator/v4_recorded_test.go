package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func recordings(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "shared", "recorded", "ndjson")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the recordings are not here: %v", err)
	}
	return folder
}

// TestRecordedV4Traffic makes the V4 requests of published recordings and compares answers and frames: outcome codes,
// numbers and the shapes. It reads the reference data beside the repository and is skipped where that is missing.
func TestRecordedV4Traffic(t *testing.T) {
	folder := recordings(t)
	for _, name := range []string{"bridge-s03a-v4-subscribe", "bridge-s04-create-list", "bridge-s07-attachment",
		"bridge-post-turn-create", "bridge-background-subagents-responses"} {
		t.Run(name, func(t *testing.T) {
			lines := readAll(t, filepath.Join(folder, name+".ndjson"))
			inBubble(t, Options{}, func(s *sim) {
				r := &v4Replay{sim: s, t: t, answers: map[any]msg{}, names: map[string]string{}, uploads: map[string]int{}}
				for _, line := range lines {
					r.line(line)
				}
			})
		})
	}
}

// v4Replay plays the client's side of a recording of V4 traffic.
type v4Replay struct {
	*sim
	t       *testing.T
	answers map[any]msg
	names   map[string]string // recorded ids -> ours
	frames  []msg             // ours that are not compared yet
	uploads map[string]int    // size by upload id
	created string            // the latest session
}

func (r *v4Replay) line(line recorded) {
	switch {
	case line.Probe != "":
		r.probe(line)
	case line.Dir == "C":
		r.request(line)
	case line.Msg["method"] == nil:
		r.answer(line)
	default:
		r.frame(line)
	}
}

func (r *v4Replay) request(line recorded) {
	method := line.Msg["method"].(string)
	params := maps.Clone(line.Msg["params"].(map[string]any))
	for _, lost := range line.Lost { // what the header of the recording says about it
		switch lost {
		case "params.clientId":
			params["clientId"] = "capture"
		case "params.issuedAt":
			params["issuedAt"] = 1
		case "params.sessionId":
			params["sessionId"] = r.created
		case "params.payload", "params.payload (rest)":
			payload, _ := params["payload"].(map[string]any)
			params["payload"] = mergePayload(payload, params["type"])
		}
	}
	if params["type"] == "createSession" {
		params["sessionId"] = nil
	}
	r.fillUpload(method, params)
	text := string(encode(params))
	for recorded, own := range r.names {
		text = strings.ReplaceAll(text, recorded, own)
	}
	answer, said := r.call(method, text)
	r.answers[line.Msg["id"]] = answer
	r.frames = append(r.frames, only(said, "v4/conversation/frame")...)
	for _, path := range []string{"result.session.sessionId", "result.result.sessionId"} {
		if id, ok := at(answer, path).(string); ok {
			r.created = id
		}
	}
}

func mergePayload(payload map[string]any, kind any) map[string]any {
	merged := map[string]any{"workspaceId": "/fixture/workspace"}
	if kind == "discardSharedContext" {
		merged = map[string]any{"contextId": "never-imported"}
	}
	maps.Copy(merged, payload)
	return merged
}

// fillUpload puts content of the recorded sizes where the recording has none, and its checksum.
func (r *v4Replay) fillUpload(method string, params map[string]any) {
	switch method {
	case "v4/attachment/begin":
		size := int(params["totalBytes"].(float64))
		params["checksum"] = fmt.Sprintf("sha256:%x", sha256.Sum256(make([]byte, size)))
	case "v4/attachment/chunk":
		var size int
		_, _ = fmt.Sscanf(params["dataBase64"].(string), "<base64:%d bytes>", &size)
		params["dataBase64"] = base64.StdEncoding.EncodeToString(make([]byte, size))
	}
}

func (r *v4Replay) answer(line recorded) {
	got := r.answers[line.Msg["id"]]
	for _, path := range []string{"result.status", "result.reasonCode", "result.revisionAtDecision", "result.memoryEnabled", "error.code",
		"error.data.name", "result.ack.mode", "result.state", "result.nextChunkIndex", "result.closed"} {
		if want := at(line.Msg, path); want != nil && want != at(got, path) {
			r.t.Errorf("answer %v: %s is %v, recorded %v", line.Msg["id"], path, at(got, path), want)
		}
	}
	for _, problem := range compare(line, line.Msg, got) {
		r.t.Errorf("answer %v: %s", line.Msg["id"], problem)
	}
	r.learn(line.Msg, got, "result.session.sessionId", "result.result.sessionId", "result.ack.subscriptionId", "result.ref")
}

// learn notes which id of ours stands for a recorded one.
func (r *v4Replay) learn(want, got msg, paths ...string) {
	for _, path := range paths {
		recorded, _ := at(want, path).(string)
		own, _ := at(got, path).(string)
		if recorded != "" && own != "" {
			r.names[recorded] = own
		}
	}
}

// frame compares the next frame of the subscription that the recorded one belongs to.
func (r *v4Replay) frame(line recorded) {
	recordedID := at(line.Msg, "params.subscriptionId").(string)
	if r.names[recordedID] == "" { // the header tells what this client did, its requests are not in the file
		r.unrecordedClient(recordedID)
	}
	find := func() int {
		return slices.IndexFunc(r.frames, func(m msg) bool { return at(m, "params.subscriptionId") == r.names[recordedID] })
	}
	i := find()
	if i < 0 {
		r.frames = append(r.frames, only(r.flushed(), "v4/conversation/frame")...)
		i = find()
	}
	if i < 0 {
		r.t.Fatalf("no frame for %s", recordedID)
	}
	got := r.frames[i]
	r.frames = slices.Delete(r.frames, i, i+1)
	for _, path := range []string{"deliveryKind", "kind", "wireVersion", "logicalFrameOrdinal", "frame.fromSeq", "frame.toSeq", "frame.payload.kind",
		"frame.payload.snapshot.revision", "frame.payload.snapshot.control", "frame.payload.snapshot.availability", "frame.payload.snapshot.rows",
		"frame.payload.snapshot.meta", "frame.payload.snapshot.queue", "frame.payload.snapshot.config.followupMode", "frame.payload.deltas"} {
		if want := at(line.Msg, "params."+path); show(want) != show(at(got, "params."+path)) {
			r.t.Errorf("frame %v of %s: %s is %s, recorded %s", at(line.Msg, "params.logicalFrameOrdinal"), recordedID, path, show(at(got, "params."+path)), show(want))
		}
	}
	if want, own := frameNumber(line.Msg), frameNumber(got); want != own {
		r.t.Errorf("logical frame id ends in %s, recorded %s", own, want)
	}
	for _, problem := range compare(line, line.Msg, got) {
		r.t.Errorf("frame: %s", problem)
	}
}

func frameNumber(m msg) string {
	id := at(m, "params.logicalFrameId").(string)
	return id[strings.LastIndex(id, "-")+1:]
}

func (r *v4Replay) unrecordedClient(recordedID string) {
	session := r.names["fixture-session"]
	topic := `"topic":"conversation/` + session + `","connectionId":"s03a-production"`
	answer, said := r.call("v4/conversation/subscribe", `{`+topic+`,"clientMode":"web-remote-replayable"}`)
	own := at(answer, "result.ack.subscriptionId").(string)
	r.names[recordedID] = own
	a, more := r.command(session, "setFollowupMode", `{"mode":"guide"}`, `"baseRevision":0`)
	if a["memoryEnabled"] != false || a["status"] != "accepted" || a["revisionAtDecision"] != 0.0 {
		r.t.Errorf("setFollowupMode: %s", show(a))
	}
	_, again := r.call("v4/conversation/resync", `{`+topic+`,"subscriptionId":"`+own+`","base":null,"forceSnapshot":true}`)
	r.call("v4/conversation/unsubscribe", `{`+topic+`,"subscriptionId":"`+own+`"}`)
	r.frames = append(r.frames, only(slices.Concat(said, more, again), "v4/conversation/frame")...)
}

func (r *v4Replay) probe(line recorded) {
	if r.created == "" {
		r.created = r.draft()
	}
	switch line.Probe {
	case "bashOutputUnknown":
		r.answers[line.Msg["id"]], _ = r.call("v4/conversation/backgroundBashOutput", `{"sessionId":"`+r.created+`","workId":"subagents-never-created"}`)
	case "cancelUnknownWorkCommand", "cancelUnknownWorkSession":
		session := r.created
		if line.Probe == "cancelUnknownWorkSession" {
			session = "sess_unknown"
		}
		a, _ := r.commandAs(at(line.Msg, "result.commandId").(string), session, "cancelBackgroundWork", `{"workId":"subagents-never-created"}`)
		r.answers[line.Msg["id"]] = msg{"id": line.Msg["id"], "result": a}
	default: // legacy methods
		return
	}
	r.answer(line)
}

// TestPlainTurnLooksLikeTheRecordedOne compares the snapshot after a turn of one thought and one answer with a real one.
func TestPlainTurnLooksLikeTheRecordedOne(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(recordings(t), "bridge-post-turn-snapshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want msg
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	inBubble(t, Options{}, func(s *sim) {
		a, _ := s.command("", "createSession", `{"workspaceId":"/w/demo","firstInput":{"text":"Reply with exactly: ok"}}`)
		s.flushed()
		c := s.follow("conversation/"+at(a, "result.sessionId").(string), "a", "desktop-continuous", "")
		got := msg(c.state)
		for _, problem := range compare(recorded{}, want, got) {
			t.Error(problem)
		}
		for _, path := range []string{"revision", "control", "availability", "inputRouting", "queue", "subagents", "rows.totalCount", "rows.firstRowId",
			"meta.titleSource", "modelTransition", "plan", "goal"} {
			if show(at(got, path)) != show(at(want, path)) {
				t.Errorf("%s is %s, recorded %s", path, show(at(got, path)), show(at(want, path)))
			}
		}
		window, own := at(want, "rows.window").([]any), at(got, "rows.window").([]any)
		for i := range min(len(window), len(own)) {
			for _, problem := range compare(recorded{}, window[i].(map[string]any), own[i].(map[string]any)) {
				t.Errorf("row %d: %s", i+1, problem)
			}
			if show(at(window[i], "actions")) != show(at(own[i], "actions")) || at(window[i], "kind") != at(own[i], "kind") {
				t.Errorf("row %d is %s, recorded %s", i+1, show(own[i]), show(window[i]))
			}
		}
		for i, seq := range []float64{3, 3} {
			if at(own[i], "createdAtSeq") != seq {
				t.Errorf("row %d was made by event %v, recorded %v", i+1, at(own[i], "createdAtSeq"), seq)
			}
		}
	})
}
