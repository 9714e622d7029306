package acp

import "testing"

const slash = `[{"name":"goal","description":"Show or set the goal.","inputHint":"/goal [pause|<objective>]","source":"builtin"},{"name":"compact","description":""},
	{"name":"/init","description":"Init","inputHint":"[notes]"},{"name":"mode","description":"Theirs"},{"name":"goal","description":"again"},{"name":""},{"name":"two words"},7]`

func TestCommands(t *testing.T) {
	u := CommandsUpdate(Commands([]byte(slash), OwnCommands...))
	valid(t, []Update{u})
	const want = `{"sessionUpdate":"available_commands_update","availableCommands":[` +
		`{"name":"goal","description":"Show or set the goal.","input":{"hint":"[pause|<objective>]"}},{"name":"compact","description":"compact"},` +
		`{"name":"init","description":"Init","input":{"hint":"[notes]"}},{"name":"mode","description":"Theirs"},` +
		`{"name":"model","description":"Show or change the model","input":{"hint":"name of a model"}},` +
		`{"name":"thought","description":"Show or change how much the model thinks","input":{"hint":"level"}}]}`
	if string(u.JSON) != want {
		t.Errorf("got\n%s\nwant\n%s", u.JSON, want)
	}
	if got := string(CommandsUpdate(Commands(nil)).JSON); got != `{"sessionUpdate":"available_commands_update","availableCommands":[]}` {
		t.Errorf("no commands: %s", got)
	}
}

func TestOnlyKnownCommandsAreCommands(t *testing.T) {
	commands := Commands([]byte(slash))
	for _, c := range []struct{ text, name, args, model string }{
		{"/goal", "goal", "", "/goal"},
		{"/goal  be quick ", "goal", "be quick", "/goal  be quick "},
		{"/init\nall of it", "init", "all of it", "/init\nall of it"},
		{"/goals", "", "", zeroWidthSpace + "/goals"},
		{"/Users/me/file.go is broken", "", "", zeroWidthSpace + "/Users/me/file.go is broken"},
		{"/", "", "", zeroWidthSpace + "/"},
		{"do /goal", "", "", "do /goal"},
		{" /goal", "", "", " /goal"},
		{"", "", "", ""},
	} {
		name, args, ok := ReadCommand(c.text, commands)
		if name != c.name || args != c.args || ok != (c.name != "") {
			t.Errorf("ReadCommand(%q) = %q, %q, %v", c.text, name, args, ok)
		}
		if got := ModelText(c.text, commands); got != c.model {
			t.Errorf("ModelText(%q) = %q, want %q", c.text, got, c.model)
		}
	}
}
