package acp

import (
	"zcodehub/internal/wire"
)

// protocolVersion is the one that is spoken here; a client that knows only later ones is answered with it all the same.
const protocolVersion = 1

// clientTraits is what a client said of itself.
type clientTraits struct {
	name     string // "" if it did not say
	version  string
	form     bool // takes elicitation forms, and says so
	terminal bool // takes the output of commands as terminal meta
}

// readTraits reads the params of initialize.
func readTraits(params []byte) clientTraits {
	t := clientTraits{name: stringIn(params, "clientInfo", "name"), version: stringIn(params, "clientInfo", "version")}
	form, _ := wire.Path(params, "clientCapabilities", "elicitation", "form")
	terminal, _ := wire.Path(params, "clientCapabilities", "_meta", "terminal_output")
	t.form = len(form) > 0 && form[0] == '{'
	t.terminal = string(terminal) == "true"
	return t
}

// kind is what the client can show of a question. One that does not say who it is is taken for the remote client, which
// handles forms without saying so.
func (t clientTraits) kind() ClientKind {
	return ClientKind{Form: t.form, ChoiceForm: t.name == "" && !t.form}
}

// initialize is answered at once, each time it comes.
func (c *Conn) initialize(in incoming) {
	version, _ := wire.Get(in.params, "protocolVersion")
	if _, ok := wire.Int64(version); !ok {
		c.write(func(w *output) {
			w.add(appendError(nil, in.id, badParams("protocolVersion must be a number; this agent speaks version %d", protocolVersion)))
		})
		return
	}
	traits := readTraits(in.params)
	c.mu.Lock()
	c.client, c.ready = traits, true
	c.mu.Unlock()
	if traits.name != "" {
		c.introduce(traits.name + " " + traits.version)
	}
	type none struct{}
	type caps = map[string]any
	result := caps{
		"protocolVersion": protocolVersion,
		"agentInfo":       caps{"name": "zcode-hub", "title": "ZCode", "version": c.adapter.version},
		"agentCapabilities": caps{
			"loadSession":         true,
			"promptCapabilities":  caps{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     caps{"http": true, "sse": false},
			"sessionCapabilities": caps{"list": none{}, "resume": none{}, "close": none{}, "delete": none{}, "fork": none{}},
			"_meta":               caps{"zcode": caps{"fs": true}},
		},
		"authMethods": []none{},
	}
	c.write(func(w *output) { w.add(appendResult(nil, in.id, result)) })
}

// maxVersion bounds what the hub is told of a client; it is shown to others.
const maxVersion = 64

// introduce tells the hub what the client is. Questions of sessions that it does not follow are others' business.
func (c *Conn) introduce(version string) {
	params := map[string]string{"clientId": c.name, "clientKind": "acp", "appVersion": clip(version, maxVersion), "interactions": "subscribed"}
	c.native.Go("hub/initialize", params, nothing)
}

// traits is what the client said of itself.
func (c *Conn) traits() clientTraits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}
