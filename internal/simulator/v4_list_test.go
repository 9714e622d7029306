package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"
)

// listing is what the list of sessions says, a line each.
func listing(c *v4Client) string {
	var lines []string
	for _, e := range at(c.state, "sessions").([]any) {
		lines = append(lines, fmt.Sprintf("%v %v %v %v", at(e, "title"), at(e, "phase"), orEmpty(at(e, "pendingInteraction.kind")), orEmpty(at(e, "lastAssistantPreview"))))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func TestSessionsIndex(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		c := s.follow("sessions-index//w/demo", "a", "web-remote-replayable", "")
		if !strings.HasPrefix(c.id, "six-") || listing(c) != "" {
			t.Errorf("id %s, list %s", c.id, listing(c))
		}
		take := func(_ any, said []msg) { c.take(said) }
		id := s.draft()
		take(s.call("session/list", `{}`))
		if listing(c) != "" {
			t.Errorf("a draft is listed: %s", listing(c))
		}
		s.decide = nobody
		take(s.command(id, "sendText", `{"text":"ask"}`))
		if got := listing(c); got != "Request: ask running permission " {
			t.Errorf("while it asks: %q", got)
		}
		take(s.command(id, "stop", `{}`))
		s.decide = allowAll
		take(s.command(id, "sendText", `{"text":"Reply with exactly: done"}`))
		if got := listing(c); got != "Request: ask completedSuccess  done" {
			t.Errorf("afterwards: %q", got)
		}
		wantSame(t, "fold", listing(c), listing(s.follow(c.topic, "fresh", "desktop-continuous", "")))
		base := fmt.Sprintf(`,"base":{"logEpoch":%q,"seq":%v}`, c.state["logEpoch"], c.seq)
		take(s.command(id, "deleteSession", `{}`))
		if got := listing(c); got != "" {
			t.Errorf("after closing it: %q", got)
		}
		other := s.follow(c.topic, "b", "desktop-continuous", "")
		if other.kinds[0] != "initial snapshot" {
			t.Error(other.kinds)
		}
		other.seq, other.state = c.seq-1, map[string]any{"sessions": []any{map[string]any{"sessionId": id}}, "logEpoch": c.state["logEpoch"]}
		if ack := other.subscribe(base); ack["mode"] != "resume" || listing(other) != "" {
			t.Errorf("resumed: %s, %q", show(ack), listing(other))
		}
		s.result("v4/conversation/resync", fmt.Sprintf(`{"topic":%q,"connectionId":"b","subscriptionId":%q,"base":null}`, c.topic, other.id))
	})
}

func TestWorkspaceConfig(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		c := s.follow("workspace-config//w/demo", "a", "desktop-continuous", "")
		setting := func() any {
			for _, o := range at(c.state, "config.configOptions").([]any) {
				if at(o, "id") == "askUserQuestionAutoResolution" {
					return at(o, "currentValue")
				}
			}
			return nil
		}
		if setting() != true || len(at(c.state, "config.slashCommands").([]any)) == 0 {
			t.Errorf("at first: %s", show(c.state))
		}
		_, said := s.call("workspace/updateInteractionPreferences", `{"workspace":`+demoWorkspace+`,"preferences":{"askUserQuestionAutoResolutionEnabled":false}}`)
		c.take(said)
		if setting() != false {
			t.Errorf("after the change: %s", show(c.state))
		}
	})
}

func TestRowsRange(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		for range 30 {
			s.command(id, "sendText", `{"text":"Reply with exactly: x"}`)
			s.sync(c)
		}
		fresh := s.follow("conversation/"+id, "b", "desktop-continuous", "")
		window := at(fresh.state, "rows.window").([]any)
		if len(window) != servedRows || at(fresh.state, "rows.totalCount") != 120.0 || at(fresh.state, "rows.firstRowId") != 1.0 {
			t.Errorf("window of %d rows, %v in all, first %v", len(window), at(fresh.state, "rows.totalCount"), at(fresh.state, "rows.firstRowId"))
		}
		got := []any{}
		before := ""
		for more := true; more; {
			page := s.result("v4/conversation/rowsRange", fmt.Sprintf(`{"sessionId":%q,"limit":50%s}`, id, before))
			rows := page["rows"].([]any)
			got = append(append([]any{}, rows...), got...)
			before = fmt.Sprintf(`,"beforeRowId":%v`, at(rows[0], "rowId"))
			more = page["hasMore"].(bool)
			if page["atLogEpoch"] != c.state["logEpoch"] || page["atRevision"] != c.state["revision"] {
				t.Errorf("page at %v, revision %v", page["atLogEpoch"], page["atRevision"])
			}
		}
		if string(encode(got)) != string(encode(at(c.state, "rows.window"))) { // the steady client has all rows
			t.Errorf("pages do not add up: %d rows", len(got))
		}
		s.fails("v4/conversation/rowsRange", fmt.Sprintf(`{"sessionId":%q,"limit":201}`, id), -32603, "")
	})
}

func TestPlansAndUsage(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		s.command(id, "sendText", `{"text":"todo"}`)
		plans := s.result("v4/conversation/plans", `{"sessionId":"`+id+`"}`)["plans"].([]any)
		if len(plans) != 1 || len(at(plans[0], "items").([]any)) != 3 {
			t.Errorf("plans: %s", show(plans))
		}
		if u := s.result("v4/conversation/usage", `{"sessionId":"`+id+`"}`); at(u, "cumulative.inputTokens").(float64) == 0 {
			t.Errorf("usage: %s", show(u))
		}
	})
}

func TestBackgroundWork(t *testing.T) {
	inBubble(t, Options{Speed: 1}, func(s *sim) {
		id := s.draft()
		c := s.follow("conversation/"+id, "a", "desktop-continuous", "")
		r := s.follow("conversation/"+id, "b", "web-remote-replayable", "")
		take := func(said []msg) { c.take(said); r.take(said) }
		_, said := s.command(id, "sendText", `{"text":"background 20s"}`)
		take(said)
		take(s.pass(8 * time.Second))
		work := at(c.state, "backgroundWorks").([]any)[0]
		if at(work, "status") != "running" || at(work, "anchorRowId").(float64) == 0 {
			t.Errorf("running: %s", show(work))
		}
		take(s.pass(40 * time.Second))
		if n := len(at(c.state, "backgroundWorks").([]any)); n != 0 || c.paths[outputPath] == 0 || r.paths[outputPath] != 0 {
			t.Errorf("%d works at the end; output came %d and %d times", n, c.paths[outputPath], r.paths[outputPath])
		}
		if got := outline(c.state); !strings.Contains(got, "line 20 of 20") {
			t.Errorf("rows:\n%s", got)
		}
		wantSame(t, "fold", c.canonical(), c.fresh())
		wantSame(t, "replayable fold", r.canonical(), c.fresh())

		_, said = s.command(id, "sendText", `{"text":"background 60s"}`)
		take(said)
		take(s.pass(8 * time.Second))
		work = at(c.state, "backgroundWorks").([]any)[0]
		a, said := s.command(id, "cancelBackgroundWork", fmt.Sprintf(`{"workId":%q}`, at(work, "workId")))
		take(said)
		wantStatus(t, a, "accepted", "")
		s.sync(c)
		if got := at(at(c.state, "backgroundWorks").([]any)[0], "status"); got != "cancelled" {
			t.Errorf("after cancelling it is %v", got)
		}
	})
}

func TestAttachments(t *testing.T) {
	inBubble(t, Options{}, func(s *sim) {
		id := s.draft()
		content := strings.Repeat("0123456789", 60_000)
		sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
		file := func(connection string) string {
			return fmt.Sprintf(`{"connectionId":%q,"sessionId":%q,"uploadId":"u"`, connection, id)
		}
		begin := file("a") + fmt.Sprintf(`,"fileName":"a.txt","mime":"text/plain","totalBytes":%d,"totalChunks":2,"checksum":%q}`, len(content), sum)
		chunk := func(i int, data string) string {
			return file("a") + fmt.Sprintf(`,"chunkIndex":%d,"dataBase64":%q}`, i, base64.StdEncoding.EncodeToString([]byte(data)))
		}
		s.result("v4/attachment/begin", begin)
		s.fails("v4/attachment/chunk", chunk(1, "x"), -32603, "chunkOutOfOrder")
		s.result("v4/attachment/chunk", chunk(0, content[:maxChunk]))
		s.fails("v4/attachment/commit", file("a")+"}", -32603, "uploadIncomplete")
		s.fails("v4/attachment/commit", file("b")+"}", -32603, "uploadNotFound") // owned by its connection
		s.result("v4/attachment/chunk", chunk(1, content[maxChunk:]))
		ref := s.result("v4/attachment/commit", file("a")+"}")["ref"].(string)
		read := fmt.Sprintf(`{"sessionId":%q,"ref":%q,"offset":600000,"limit":10}`, id, ref)
		s.fails("v4/attachment/read", read, -32603, "previewRefNotAuthorized")
		s.command(id, "sendText", fmt.Sprintf(`{"text":"Reply with exactly: ok","attachments":[{"ref":%q,"fileName":"a.txt","mime":"text/plain","bytes":%d}]}`, ref, len(content)))
		if got := s.result("v4/attachment/read", strings.Replace(read, "600000", "599995", 1)); got["dataBase64"] != "NTY3ODk=" || got["nextOffset"] != nil {
			t.Errorf("the end of the file: %s", show(got))
		}
		if got := s.follow("conversation/"+id, "a", "desktop-continuous", ""); !strings.Contains(got.canonical(), `"fileName": "a.txt"`) {
			t.Error("the row does not show the file")
		}

		other := strings.Replace(begin, `"u"`, `"v"`, 1)
		s.result("v4/attachment/begin", other)
		s.result("v4/connection/flow", `{"connectionId":"a","state":"closed"}`)
		s.fails("v4/attachment/commit", strings.Replace(file("a"), `"u"`, `"v"`, 1)+"}", -32603, "uploadNotFound")
		if got := s.result("v4/attachment/begin", begin); got["ref"] != ref {
			t.Errorf("the committed file: %s", show(got))
		}
		for i := range maxUploads {
			s.result("v4/attachment/begin", strings.Replace(begin, `"u"`, fmt.Sprintf(`"n%d"`, i), 1))
		}
		s.fails("v4/attachment/begin", strings.Replace(begin, `"u"`, `"more"`, 1), -32603, "tooManyUploads")
		time.Sleep(uploadTTL + time.Second)
		s.result("v4/attachment/begin", strings.Replace(begin, `"u"`, `"more"`, 1))
	})
}
