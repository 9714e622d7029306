package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// v4Client folds the frames of one subscription the way the protocol says.
type v4Client struct {
	s          *sim
	topic      string
	connection string
	profile    string
	id         string // subscriptionId
	state      map[string]any
	seq        float64
	ordinal    float64
	pieces     []byte
	kinds      []string // "initial snapshot", "online deltas", …
	ops        []string // of all deltas
	paths      map[string]int
	doubt      bool // a rewind went beyond the rows that are loaded
}

// follow subscribes and folds what comes from then on.
func (s *sim) follow(topic, connection, profile string, more string) *v4Client {
	s.t.Helper()
	c := &v4Client{s: s, topic: topic, connection: connection, profile: profile, paths: map[string]int{}}
	c.subscribe(more)
	return c
}

func (c *v4Client) subscribe(more string) msg {
	c.s.t.Helper()
	m, said := c.s.call("v4/conversation/subscribe", fmt.Sprintf(`{"topic":%q,"connectionId":%q,"clientMode":%q%s}`, c.topic, c.connection, c.profile, more))
	ack, ok := at(m, "result.ack").(map[string]any)
	if !ok {
		c.s.t.Fatalf("subscribe: got %s", show(m))
	}
	c.id, c.ordinal = ack["subscriptionId"].(string), 0
	c.take(said)
	return ack
}

// take folds the frames among what the simulator said.
func (c *v4Client) take(said []msg) {
	c.s.t.Helper()
	for _, m := range only(said, "v4/conversation/frame") {
		p := at(m, "params").(map[string]any)
		if p["subscriptionId"] == c.id {
			c.physical(p)
		}
	}
}

func (c *v4Client) physical(p map[string]any) {
	t := c.s.t
	t.Helper()
	if n := len(encode(msg{"method": "v4/conversation/frame", "params": p})); n > maxPhysical {
		t.Errorf("physical frame of %d bytes", n)
	}
	frame, _ := p["frame"].(map[string]any)
	if p["kind"] == "fragment" {
		data, err := base64.StdEncoding.DecodeString(p["dataBase64"].(string))
		if err != nil {
			t.Fatal(err)
		}
		c.pieces = append(c.pieces, data...)
		if p["fragmentIndex"].(float64)+1 < p["fragmentCount"].(float64) {
			return
		}
		if sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(c.pieces)); sum != at(p, "checksum.value") || float64(len(c.pieces)) != p["logicalBytes"] {
			t.Fatalf("fragments do not add up: %s, %d bytes", sum, len(c.pieces))
		}
		if err := json.Unmarshal(c.pieces, &frame); err != nil {
			t.Fatal(err)
		}
		c.pieces = nil
	}
	if c.ordinal++; p["logicalFrameOrdinal"] != c.ordinal {
		t.Errorf("ordinal %v, want %v", p["logicalFrameOrdinal"], c.ordinal)
	}
	c.logical(p["deliveryKind"].(string), frame)
}

func (c *v4Client) logical(delivery string, frame map[string]any) {
	t := c.s.t
	t.Helper()
	payload := frame["payload"].(map[string]any)
	c.kinds = append(c.kinds, delivery+" "+payload["kind"].(string))
	if payload["kind"] == "snapshot" {
		c.state, c.doubt = payload["snapshot"].(map[string]any), false
		if frame["fromSeq"] != 0.0 || (c.state["seq"] != nil && c.state["seq"] != frame["toSeq"]) {
			t.Errorf("snapshot frame (%v, %v]", frame["fromSeq"], frame["toSeq"])
		}
	} else if frame["fromSeq"] != c.seq {
		t.Errorf("%s: frame (%v, %v] after %v", c.connection, frame["fromSeq"], frame["toSeq"], c.seq)
	} else {
		for _, d := range payload["deltas"].([]any) {
			c.apply(d.(map[string]any))
		}
	}
	c.seq = frame["toSeq"].(float64)
	if _, ok := c.state["seq"]; ok {
		c.state["seq"] = c.seq
	}
}

func (c *v4Client) apply(d map[string]any) {
	name := d["op"].(string)
	c.ops = append(c.ops, name)
	switch name {
	case opState:
		for key, value := range d["patch"].(map[string]any) {
			c.state[key] = value
		}
		return
	case "session.upserted", "session.removed":
		c.applyIndex(d)
		return
	case "config.updated":
		c.state["config"] = d["config"]
		return
	}
	rows := c.state["rows"].(map[string]any)
	window := rows["window"].([]any)
	find := func(id any) int {
		for i, r := range window {
			if at(r, "rowId") == id {
				return i
			}
		}
		return -1
	}
	switch name {
	case opAppended:
		rows["window"], rows["totalCount"] = append(window, d["row"]), rows["totalCount"].(float64)+1
		if rows["firstRowId"] == nil {
			rows["firstRowId"] = at(d, "row.rowId")
		}
	case opUpserted:
		if i := find(at(d, "row.rowId")); i >= 0 {
			window[i] = d["row"]
		}
	case opRemoved:
		c.removeRows(rows, window, d["fromRowId"].(float64))
	case opDelta:
		c.paths[d["path"].(string)]++
		if i := find(d["rowId"]); i >= 0 {
			grow(window[i].(map[string]any), d["path"].(string), d["append"].(string))
		}
	default:
		c.s.t.Errorf("unknown operation %q", name)
	}
}

func grow(row map[string]any, path, text string) {
	if path == outputPath {
		if output, ok := row["output"].(map[string]any); ok {
			output["text"] = output["text"].(string) + text
		}
		return
	}
	row[path] = row[path].(string) + text
}

func (c *v4Client) removeRows(rows map[string]any, window []any, from float64) {
	kept := []any{}
	for _, r := range window {
		if at(r, "rowId").(float64) < from {
			kept = append(kept, r)
		}
	}
	removed := len(window) - len(kept)
	rows["window"] = kept
	if from <= rows["firstRowId"].(float64) {
		rows["totalCount"], rows["firstRowId"] = 0.0, nil
		return
	}
	total := rows["totalCount"].(float64) - float64(removed)
	rows["totalCount"] = total
	c.doubt = c.doubt || len(kept) < int(min(total, servedRows)) || len(window) > 0 && from < at(window[0], "rowId").(float64)
}

func (c *v4Client) applyIndex(d map[string]any) {
	list := c.state["sessions"].([]any)
	id := d["sessionId"]
	if id == nil {
		id = at(d, "session.sessionId")
	}
	kept := []any{}
	for _, e := range list {
		if at(e, "sessionId") != id {
			kept = append(kept, e)
		}
	}
	if d["session"] != nil {
		kept = append(kept, d["session"])
	}
	c.state["sessions"] = kept
}

// canonical is the state as compared: the served window, keys sorted.
func (c *v4Client) canonical() string { return canonical(c.state) }

func canonical(state map[string]any) string {
	var copied map[string]any
	if err := json.Unmarshal(encode(state), &copied); err != nil {
		panic(err)
	}
	if rows, ok := copied["rows"].(map[string]any); ok {
		window := rows["window"].([]any)
		rows["window"] = window[max(0, len(window)-servedRows):]
	}
	var b bytes.Buffer
	_ = json.Indent(&b, encode(copied), "", " ")
	return b.String()
}

// fresh gives a snapshot of the topic as it stands.
func (c *v4Client) fresh() string {
	c.s.t.Helper()
	other := c.s.follow(c.topic, "fresh", "desktop-continuous", "")
	c.s.result("v4/conversation/unsubscribe", fmt.Sprintf(`{"topic":%q,"connectionId":"fresh","subscriptionId":%q}`, c.topic, other.id))
	return other.canonical()
}

// flushed lets all flush windows pass and gives what was said in them.
func (s *sim) flushed() []msg {
	s.t.Helper()
	said := s.settle()
	for range 5 {
		time.Sleep(40 * time.Millisecond)
		said = append(said, s.settle()...)
	}
	return said
}

// sync lets everything reach the clients.
func (s *sim) sync(clients ...*v4Client) {
	s.t.Helper()
	said := s.flushed()
	for _, c := range clients {
		c.take(said)
	}
}

// command sends a V4 command and gives its acknowledgement and what was said with it.
func (s *sim) command(session, kind, payload string, more ...string) (map[string]any, []msg) {
	s.t.Helper()
	s.commands++
	return s.commandAs("cmd-"+strconv.Itoa(s.commands), session, kind, payload, more...)
}

func (s *sim) commandAs(id, session, kind, payload string, more ...string) (map[string]any, []msg) {
	s.t.Helper()
	sessionID := "null"
	if session != "" {
		sessionID = strconv.Quote(session)
	}
	params := fmt.Sprintf(`{"commandId":%q,"clientId":"client-a","sessionId":%s,"type":%q,"payload":%s,"issuedAt":1`, id, sessionID, kind, payload)
	for _, m := range more {
		params += "," + m
	}
	m, said := s.call("v4/command", params+"}")
	a, ok := m["result"].(map[string]any)
	if !ok {
		s.t.Fatalf("%s %s: got %s", kind, payload, show(m))
	}
	return a, said
}

// draft makes a session the V4 way.
func (s *sim) draft() string {
	s.t.Helper()
	a, _ := s.command("", "createSession", `{"workspaceId":"/w/demo"}`)
	return at(a, "result.sessionId").(string)
}

func wantStatus(t *testing.T, a map[string]any, status, reason string) {
	t.Helper()
	if got := fmt.Sprint(a["status"], " ", orEmpty(a["reasonCode"])); got != status+" "+reason {
		t.Errorf("acknowledgement %s, want %s %s", show(a), status, reason)
	}
}

func wantSame(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}
