package simulator

// todoGroups is the todo list as clients that show it in groups want it: one group, if there is any entry.
func (x *session) todoGroups() []object {
	if len(x.Todos) == 0 {
		return []object{}
	}
	return []object{{"id": "main", "title": "Tasks", "todos": x.Todos}}
}
