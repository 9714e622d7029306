package acp

import (
	"encoding/json"
	"strings"

	"zcodehub/internal/wire"
)

// A Command is one slash command as a client offers it.
type Command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

// OwnCommands are those that the hub carries out itself, for clients that have no other way to change settings.
var OwnCommands = []Command{
	{"mode", "Show or change the mode", &commandInput{"plan | build | edit | yolo | auto"}},
	{"model", "Show or change the model", &commandInput{"name of a model"}},
	{"thought", "Show or change how much the model thinks", &commandInput{"level"}},
}

// Commands joins the slashCommands of a snapshot with some of the hub's own. Of two with one name the app-server's counts.
func Commands(slashCommands []byte, own ...Command) []Command {
	commands := []Command{}
	seen := map[string]bool{}
	for raw := range wire.Elements(slashCommands) {
		var c struct{ Name, Description, InputHint string }
		_ = json.Unmarshal(raw, &c)
		name := strings.TrimPrefix(c.Name, "/")
		if name == "" || strings.ContainsAny(name, " \t\r\n") || seen[name] {
			continue
		}
		seen[name] = true
		command := Command{Name: name, Description: first(c.Description, name)}
		if hint := strings.TrimSpace(strings.TrimPrefix(c.InputHint, "/"+name)); hint != "" {
			command.Input = &commandInput{hint}
		}
		commands = append(commands, command)
	}
	for _, command := range own {
		if !seen[command.Name] {
			commands = append(commands, command)
		}
	}
	return commands
}

// CommandsUpdate tells a client its commands.
func CommandsUpdate(commands []Command) Update {
	return newUpdate(updateCommands, commandsUpdate{updateCommands, commands})
}

// ReadCommand takes a prompt's text apart if it is one of the commands: "/name args".
func ReadCommand(text string, commands []Command) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args, _ = strings.Cut(rest, " ")
	if at := strings.IndexAny(name, "\r\n\t"); at >= 0 {
		name, args = name[:at], rest[at+1:]
	}
	for _, c := range commands {
		if c.Name == name {
			return name, strings.TrimSpace(args), true
		}
	}
	return "", "", false
}

// zeroWidthSpace before a slash keeps the app-server from reading a path as a command.
const zeroWidthSpace = "\u200b"

// ModelText is a prompt's text as it goes to the app-server: what starts with a slash and is no command is text for the
// model, such as a path.
func ModelText(text string, commands []Command) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	if _, _, ok := ReadCommand(text, commands); ok {
		return text
	}
	return zeroWidthSpace + text
}
