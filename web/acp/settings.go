package acp

import (
	"context"
	"encoding/json"

	"zcodehub/auth"
)

// setConfigOption takes session/set_config_option.
func (c *Conn) setConfigOption(r *request) (any, error) {
	var params struct {
		ConfigID string `json:"configId"`
		Value    any
	}
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	value, ok := params.Value.(string)
	if !ok {
		return nil, badParams("value must be a string: the value of one of the option's choices")
	}
	return c.set(r, params.ConfigID, value, true)
}

// setMode takes session/set_mode, and session/setMode as the app-server has it.
func (c *Conn) setMode(r *request) (any, error) {
	var params struct{ ModeID, Mode string }
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	return c.set(r, optionMode, first(params.ModeID, params.Mode), false)
}

// setModel takes session/setModel: model is a value of the option, or {providerId, modelId}.
func (c *Conn) setModel(r *request) (any, error) {
	var params struct {
		Model   json.RawMessage
		ModelID string
	}
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	value := first(stringOf(params.Model), params.ModelID)
	var ref modelRef
	if len(params.Model) > 0 && params.Model[0] == '{' && json.Unmarshal(params.Model, &ref) == nil {
		value = ref.value()
	}
	return c.set(r, optionModel, value, false)
}

// setThoughtLevel takes session/setThoughtLevel.
func (c *Conn) setThoughtLevel(r *request) (any, error) {
	var params struct{ ThoughtLevel string }
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	return c.set(r, optionThought, params.ThoughtLevel, false)
}

// set changes an option and answers with all of them if the request wants them.
func (c *Conn) set(r *request, option, value string, whole bool) (any, error) {
	if r.sessionID == "" {
		return nil, badParams("sessionId is missing")
	}
	p, err := c.follow(r.ctx, r.sessionID)
	if err != nil {
		return nil, err
	}
	if err := c.change(r.ctx, p, option, value); err != nil {
		return nil, err
	}
	var result any = struct{}{}
	c.hold(func(*output) {
		if whole {
			result = map[string]any{"configOptions": p.translator.ConfigOptions()}
		}
	})
	return result, nil
}

// change changes an option and tells everybody who follows the session on ACP.
func (c *Conn) change(ctx context.Context, p *place, option, value string) error {
	var change Change
	var wrong error
	c.hold(func(*output) { change, wrong = p.translator.Set(option, value) })
	if wrong != nil {
		return badParams("%v", wrong)
	}
	if !c.has(auth.Control) {
		return &Error{Code: codeAuth, Message: "Your access does not cover changing settings."}
	}
	var failed error
	err := c.native.Do(ctx, change.Method, change.Params, func(snapshot json.RawMessage, err error) {
		if failed = err; err != nil {
			return
		}
		c.write(func(w *output) {
			at := readState(snapshot)
			p.show(w, p.translator.settingsChanged(func(s *settings) { s.merge(at.Settings) }))
		})
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	for _, other := range p.room.others(c) {
		other.spawn(func() { other.look(p.sessionID) })
	}
	return nil
}

// look reads the state of a session again and shows what has changed: some versions of the app-server say nothing of a
// change that was asked for.
func (c *Conn) look(sessionID string) {
	c.native.Go("session/read", map[string]any{"sessionId": sessionID, "messageLimit": 1}, func(result json.RawMessage, err error) {
		if err != nil {
			return
		}
		at := readState(result)
		c.write(func(w *output) {
			if p := c.places[sessionID]; p != nil {
				p.refresh(w, &at)
			}
		})
	})
}

// pass takes requests that are the app-server's own, for clients that know it.
func (c *Conn) pass(r *request) (any, error) {
	var params map[string]json.RawMessage
	if err := decode(r, &params); err != nil {
		return nil, err
	}
	delete(params, "_meta")
	return c.native.Call(r.ctx, r.method, params)
}

// usageStats takes account/usage_stats.
func (c *Conn) usageStats(*request) (any, error) { return Quota(), nil }
