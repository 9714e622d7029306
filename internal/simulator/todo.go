package simulator

// todoWrite is a TodoWrite call that replaces the session's list.
func todoWrite(todos []todo) *toolCall {
	var input []object
	for _, d := range todos {
		input = append(input, object{"content": d.Content, "status": d.Status, "activeForm": d.ActiveForm})
	}
	c := &toolCall{name: "TodoWrite", title: "Tasks", input: object{"todos": input}}
	c.work = func() toolResult {
		c.t.x.Todos = todos
		return toolResult{content: "Todos have been modified successfully."}
	}
	return c
}

// todoGroups is the todo list as clients that show it in groups want it: one group, if there is any entry.
func (x *session) todoGroups() []object {
	if len(x.Todos) == 0 {
		return []object{}
	}
	return []object{{"id": "main", "title": "Tasks", "todos": x.Todos}}
}

// todoStates are the stages of the demo list: so many entries done, the next one in progress.
func todoStates() [][]todo {
	entries := []todo{
		{Content: "Read the code", ActiveForm: "Reading the code"},
		{Content: "Change the button", ActiveForm: "Changing the button"},
		{Content: "Run the tests", ActiveForm: "Running the tests"},
	}
	var states [][]todo
	for done := 0; done <= len(entries); done++ {
		state := make([]todo, len(entries))
		for i, d := range entries {
			d.ID, d.Priority, d.Status = string(rune('1'+i)), "medium", "pending"
			switch {
			case i < done:
				d.Status = "completed"
			case i == done:
				d.Status = "in_progress"
			}
			state[i] = d
		}
		states = append(states, state)
	}
	return states
}
