package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// site is the HTTP side over a real hub. Who asks is a name that the test gave a principal.
type site struct {
	t         *testing.T
	hub       *hubtest.Hub
	simulator *hubtest.Simulator
	directory *Directory
	server    *httptest.Server
	people    map[string]*auth.Principal
	operator  *hubtest.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	simulator := hubtest.NewSimulator(t, hubtest.SimulatorOptions{})
	s := newSiteOf(t, hubtest.Start(t, simulator))
	s.simulator = simulator
	s.hub.WantReady()
	s.operator = s.hub.Connect("native", hubtest.As{})
	return s
}

func newSiteOf(t *testing.T, h *hubtest.Hub) *site {
	t.Helper()
	s := &site{t: t, hub: h, people: map[string]*auth.Principal{}}
	log := slog.New(slog.DiscardHandler)
	s.directory = NewDirectory(h.Hub, filepath.Join(t.TempDir(), "closed.json"), log)
	side := NewHTTP(HTTPOptions{
		Hub: h.Hub, Directory: s.directory, Instance: "hub-test", Workspace: "/start", Log: log,
		Good: func(*auth.Principal) bool { return true },
		Principal: func(w http.ResponseWriter, r *http.Request) *auth.Principal {
			p := s.people[r.Header.Get("As")]
			if p == nil {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return p
		},
	})
	router := chi.NewRouter()
	router.Use(middleware.GetHead)
	side.Mount(router)
	s.server = httptest.NewServer(router)
	t.Cleanup(s.server.Close)
	for _, role := range []auth.Role{auth.RoleViewer, auth.RoleApprover, auth.RoleOperator, auth.RoleAdmin} {
		s.people[string(role)] = holder(string(role), role)
	}
	return s
}

// limited makes a principal with a scope.
func (s *site) limited(name string, role auth.Role, sessions, workspaces []string) {
	p := holder(name, role)
	p.Sessions, p.Workspaces = sessions, workspaces
	s.people[name] = p
}

type got struct {
	status int
	header http.Header
	body   string
}

func (g got) String() string { return fmt.Sprintf("%d %.300s", g.status, g.body) }

func (s *site) send(method, as, path, body string, header ...string) got {
	s.t.Helper()
	r, err := http.NewRequest(method, s.server.URL+path, strings.NewReader(body))
	must(s.t, err)
	r.Header.Set("As", as)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	must(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(s.t, err)
	return got{response.StatusCode, response.Header, string(text)}
}

func (s *site) get(as, path string, header ...string) got {
	s.t.Helper()
	return s.send(http.MethodGet, as, path, "", header...)
}

func readAs[T any](t *testing.T, g got) (value T) {
	t.Helper()
	if g.status != http.StatusOK {
		t.Fatalf("answered %s", g)
	}
	must(t, json.Unmarshal([]byte(g.body), &value))
	return value
}

// sessions is the list of the instance, as GET /api/instances gives it now.
func (s *site) sessions(as string) []listedSession {
	s.t.Helper()
	list := readAs[[]instance](s.t, s.get(as, "/api/instances?probe=1"))
	if len(list) != 1 || list[0].ID != "hub-test" {
		s.t.Fatalf("instances: %v", list)
	}
	return list[0].Sessions
}

func (s *site) listed(as, id string) (listedSession, bool) {
	s.t.Helper()
	for _, x := range s.sessions(as) {
		if x.SessionID == id {
			return x, true
		}
	}
	return listedSession{}, false
}

// prompted makes a session in which a turn has ended.
func (s *site) prompted(workspace, text string) string {
	s.t.Helper()
	id := s.operator.Create(workspace)
	s.prompt(id, text)
	hubtest.Want(s.t, "the end of the turn", func() bool {
		x, ok := s.listed("admin", id)
		return ok && x.Status == "idle"
	})
	return id
}

func (s *site) prompt(id, text string) { s.t.Helper(); s.operator.Prompt(id, text) }

func inInstance(rest string) string { return "/api/instances/hub-test/" + rest }

func fileQuery(id, path, more string) string {
	return "?sessionId=" + url.QueryEscape(id) + "&path=" + url.QueryEscape(path) + more
}

func TestTheInstanceIsThereWhateverTheAppServerDoes(t *testing.T) {
	s := newSiteOf(t, hubtest.Start(t, hubtest.Mortal{}))
	begun := time.Now()
	list := readAs[[]instance](t, s.get("viewer", "/api/instances?probe=1"))
	if len(list) != 1 || list[0].ID != "hub-test" || list[0].Pid == 0 || list[0].Port == 0 || list[0].StartedAt == 0 || list[0].Origin != "serve" || list[0].Sessions == nil {
		t.Errorf("without an app-server: %+v", list)
	}
	if waited := time.Since(begun); waited > 4*listWait { // it was not held until the hub gives up, which is later
		t.Errorf("a probe took %s", waited)
	}
	for _, path := range []string{inInstance("status"), "/api/projects", "/api/projects/sessions?workspacePath=/w", inInstance("fs/list?sessionId=x")} {
		if g := s.get("viewer", path); g.status != http.StatusBadGateway {
			t.Errorf("%s without an app-server: %s", path, g)
		}
	}
	if g := s.send("POST", "operator", inInstance("sessions/x/close"), ""); g.status != http.StatusBadGateway {
		t.Errorf("close without an app-server: %s", g)
	}
	if g := s.get("nobody", "/api/health"); g.status != http.StatusOK || g.body != "ok" {
		t.Errorf("health: %s", g)
	}
}

func TestASessionIsListedFromItsFirstPromptAndWhileThatRuns(t *testing.T) {
	s := newSite(t)
	id := s.operator.Create("/w")
	if _, ok := s.listed("viewer", id); ok {
		t.Error("a session that nobody used is listed")
	}
	s.prompt(id, "ask echo")
	hubtest.Want(t, "the session to be listed as running", func() bool {
		x, ok := s.listed("viewer", id)
		return ok && x.Status == "running" && x.Title != "" && x.UpdatedAt > 0
	})
	if g := s.send("POST", "operator", inInstance("sessions/"+id+"/close"), ""); g.status != http.StatusConflict {
		t.Errorf("closing a session whose turn runs: %s", g)
	}
	if g := s.send("POST", "operator", inInstance("sessions/"+id+"/delete"), ""); g.status != http.StatusConflict {
		t.Errorf("deleting a session whose turn runs: %s", g)
	}
	s.operator.MustCall("session/stop", fmt.Sprintf(`{"sessionId":%q}`, id))
	hubtest.Want(t, "the session to be listed as idle", func() bool {
		x, ok := s.listed("viewer", id)
		return ok && x.Status == "idle"
	})
	empty := s.operator.Create("/w")
	s.directory.Use(empty)
	if _, ok := s.listed("viewer", empty); !ok {
		t.Error("a session that was opened is not listed")
	}
	status := readAs[map[string][]listedSession](t, s.get("viewer", inInstance("status")))
	if len(status["sessions"]) != 2 {
		t.Errorf("status: %v", status)
	}
}

func TestClosingHidesASessionUntilItsNextUse(t *testing.T) {
	s := newSite(t)
	id := s.prompted("/w", "hello")
	other := s.prompted("/w", "hello again")
	for range 2 { // the second finds it closed already
		if g := s.send("POST", "operator", inInstance("sessions/"+id+"/close"), ""); g.status != http.StatusOK || strings.TrimSpace(g.body) != `{"ok":true}` {
			t.Fatalf("close: %s", g)
		}
	}
	if _, ok := s.listed("viewer", id); ok {
		t.Error("a closed session is listed")
	}
	if _, ok := s.listed("viewer", other); !ok {
		t.Error("closing one hid another")
	}
	if page := readAs[projectPage](t, s.get("viewer", "/api/projects/sessions?workspacePath=/w")); len(page.Sessions) != 2 {
		t.Errorf("the project lost what was closed: %+v", page)
	}
	again := NewDirectory(s.hub.Hub, s.directory.closed.file, slog.New(slog.DiscardHandler))
	if closed, _ := again.closed.is(&Session{ID: id}); !closed {
		t.Error("a restart of the hub shows it again")
	}
	s.operator.Prompt(id, "ask echo") // by the native surface
	hubtest.Want(t, "the next use to show it again", func() bool { _, ok := s.listed("viewer", id); return ok })
	s.operator.MustCall("session/stop", fmt.Sprintf(`{"sessionId":%q}`, id))
	hubtest.Want(t, "it to stay", func() bool { x, ok := s.listed("viewer", id); return ok && x.Status == "idle" })

	if g := s.send("POST", "operator", inInstance("sessions/"+id+"/delete"), ""); g.status != http.StatusOK || !strings.Contains(g.body, `"deleted":true`) {
		t.Fatalf("delete: %s", g)
	}
	page := readAs[projectPage](t, s.get("viewer", "/api/projects/sessions?workspacePath=/w"))
	if len(page.Sessions) != 1 || page.Sessions[0].SessionID != other {
		t.Errorf("the project holds what was deleted: %+v", page)
	}
	s.send("POST", "operator", inInstance("sessions/"+other+"/close"), "")
	g := s.send("POST", "operator", "/api/instances", fmt.Sprintf(`{"workspacePath":"/w","sessionId":%q}`, other))
	if g.status != http.StatusOK || !strings.Contains(g.body, `"id":"hub-test"`) || !strings.Contains(g.body, `"reused":true`) {
		t.Errorf("opening a project: %s", g)
	}
	if _, ok := s.listed("viewer", other); !ok {
		t.Error("a session that was opened with its project is not listed")
	}
}

func TestRenamingPinsATitle(t *testing.T) {
	s := newSite(t)
	id := s.prompted("/w", "hello")
	rename := func(body string) got {
		return s.send("POST", "operator", inInstance("sessions/"+id+"/rename"), body)
	}
	if g := rename(`{"title":"  My\n\tfine   title ","more":1}`); g.status != http.StatusOK || !strings.Contains(g.body, `"title":"My fine title"`) {
		t.Fatalf("rename: %s", g)
	}
	if x, _ := s.listed("viewer", id); x.Title != "My fine title" {
		t.Errorf("listed as %q", x.Title)
	}
	long := readAs[map[string]any](t, rename(fmt.Sprintf(`{"title":%q}`, strings.Repeat("ü", 200))))
	if title, _ := long["title"].(string); len([]rune(title)) != maxTitle {
		t.Errorf("a long title became %q", title)
	}
	for _, body := range []string{``, `{}`, `{"title":" \n "}`, `{"title":5}`, `[]`, fmt.Sprintf(`{"title":%q}`, strings.Repeat("x", maxRenameBody))} {
		if g := rename(body); g.status != http.StatusBadRequest {
			t.Errorf("rename with %.40q: %s", body, g)
		}
	}
}

// What each route asks for, and that what is outside a token's scope is answered letter for letter like what is nowhere.
func TestRoutesKeepToRightsAndScope(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "f.txt"), []byte(insideText), 0o644))
	id := s.prompted(folder, "hello")
	foreign := s.prompted("/foreign", "hello")
	s.limited("viewer of one", auth.RoleViewer, []string{id}, nil)
	s.limited("operator of one", auth.RoleOperator, []string{id}, nil)
	s.limited("operator of a folder", auth.RoleOperator, nil, []string{folder})
	const all, control = "viewer approver operator admin", "operator admin"
	routes := []struct {
		method, path, body, allowed string
		unknown                     int // answered where the session does not exist, or not for this principal
	}{
		{"GET", "/api/instances", "", all, 0},
		{"GET", "/api/quota", "", all, 0},
		{"GET", "/api/projects", "", all, 0},
		{"GET", inInstance("status"), "", all, 0},
		{"GET", "/api/fs/list?path=/", "", control, 0},
		{"POST", "/api/instances", `{"workspacePath":"/foreign"}`, control, 0},
		{"GET", inInstance("fs/list?sessionId=ID"), "", all, 403},
		{"GET", inInstance("fs/file?path=f.txt&sessionId=ID"), "", all, 403},
		{"POST", inInstance("sessions/ID/rename"), `{"title":"t"}`, control, 404},
		{"POST", inInstance("sessions/ID/close"), "", control, 404},
		{"POST", inInstance("sessions/ID/delete"), "", control, 404},
	}
	for _, c := range routes {
		at := func(session string) string { return strings.Replace(c.path, "ID", session, 1) }
		for _, name := range strings.Fields(all) {
			want := http.StatusForbidden
			if strings.Contains(c.allowed, name) {
				want = http.StatusOK
			}
			if g := s.send(c.method, name, at(id), c.body); g.status != want {
				t.Errorf("%s %s by a %s: %s, want %d", c.method, c.path, name, g, want)
			}
		}
		if g := s.send(c.method, "nobody", at(id), c.body); g.status != http.StatusUnauthorized {
			t.Errorf("%s %s by nobody: %s", c.method, c.path, g)
		}
		if strings.Contains(c.path, "hub-test") {
			if g := s.send(c.method, "admin", strings.Replace(at(id), "hub-test", "other", 1), c.body); g.status != http.StatusNotFound {
				t.Errorf("%s %s of another instance: %s", c.method, c.path, g)
			}
		}
		if c.unknown == 0 {
			continue
		}
		for _, name := range []string{"operator of one", "operator of a folder"} {
			outside, nowhere := s.send(c.method, name, at(foreign), c.body), s.send(c.method, name, at("sess_nowhere"), c.body)
			if outside.status != c.unknown || outside.String() != nowhere.String() {
				t.Errorf("%s %s by the %s: outside the scope %s, nowhere %s, want %d", c.method, c.path, name, outside, nowhere, c.unknown)
			}
		}
		if g := s.send(c.method, "operator of one", at(id), c.body); g.status != http.StatusOK {
			t.Errorf("%s %s within the scope: %s", c.method, c.path, g)
		}
	}
	for _, name := range []string{"operator of one", "operator of a folder"} {
		for _, path := range []string{"/api/instances", "/api/projects", inInstance("status")} {
			if g := s.get(name, path); strings.Contains(g.body, "foreign") || strings.Contains(g.body, foreign) || strings.Contains(g.body, "/start") || g.status != 200 {
				t.Errorf("%s tells the %s: %s", path, name, g)
			}
		}
		for _, g := range []got{
			s.get(name, "/api/projects/sessions?workspacePath=/foreign"),
			s.send("POST", name, "/api/instances", `{"workspacePath":"/foreign"}`), s.get(name, "/api/fs/list?path=/"),
		} {
			if g.status != http.StatusForbidden {
				t.Errorf("the %s was answered %s", name, g)
			}
		}
	}
	if g := s.send("POST", "operator of a folder", "/api/instances", fmt.Sprintf(`{"workspacePath":%q,"sessionId":%q}`, folder, foreign)); g.status != http.StatusNotFound {
		t.Errorf("a foreign session was opened: %s", g)
	}
}

func TestProjectsComeInPages(t *testing.T) {
	s := newSite(t)
	var ids []string
	for range 5 {
		ids = append(ids, s.prompted("/w", "hello"))
	}
	s.prompted("/other", "hello")
	projects := readAs[[]project](t, s.get("viewer", "/api/projects"))
	counts := map[string]int{}
	for _, p := range projects {
		if counts[p.WorkspacePath] = p.Sessions; p.LastActive == 0 {
			t.Errorf("%s was never active", p.WorkspacePath)
		}
	}
	if len(projects) != 2 || counts["/w"] != 5 || counts["/other"] != 1 {
		t.Errorf("projects: %+v", projects)
	}
	seen := map[string]bool{}
	more := ""
	for range 3 {
		page := readAs[projectPage](t, s.get("viewer", "/api/projects/sessions?workspacePath=/w&limit=2"+more))
		for _, x := range page.Sessions {
			if seen[x.SessionID] || !x.Live || x.Cwd != "/w" {
				t.Errorf("page holds %+v again or wrongly", x)
			}
			seen[x.SessionID] = true
		}
		if page.NextCursor == nil {
			break
		}
		more = fmt.Sprintf("&before=%d&beforeId=%s", page.NextCursor.Before, page.NextCursor.BeforeID)
	}
	if len(seen) != len(ids) {
		t.Errorf("pages held %d sessions of %d", len(seen), len(ids))
	}
	for path, want := range map[string]int{"?workspacePath=/none": 403, "?workspacePath=w": 400, "": 400, "?workspacePath=/w&limit=x": 400, "?workspacePath=/w&before=-1": 400, "?workspacePath=/w&limit=0": 400} {
		if g := s.get("viewer", "/api/projects/sessions"+path); g.status != want {
			t.Errorf("sessions%s: %s, want %d", path, g, want)
		}
	}
	for _, body := range []string{``, `{}`, `{"workspacePath":"w"}`, `x`} {
		if g := s.send("POST", "operator", "/api/instances", body); g.status != http.StatusBadRequest {
			t.Errorf("opening %q: %s", body, g)
		}
	}
}

func TestManyWhoPollCostTheAppServerOneCall(t *testing.T) {
	s := newSite(t)
	id := s.prompted("/w", "hello")
	readAs[[]instance](t, s.get("viewer", "/api/instances"))
	before := s.simulator.Count("session/list")
	begun := time.Now()
	for range 200 {
		readAs[[]instance](t, s.get("viewer", "/api/instances"))
		s.get("viewer", inInstance("fs/list"+fileQuery(id, "", "")))
	}
	if calls, most := s.simulator.Count("session/list")-before, int(time.Since(begun)/fresh)+1; calls > most {
		t.Errorf("200 polls made %d calls", calls)
	}
}

func TestQuotaSaysThatNothingIsKnown(t *testing.T) {
	s := newSite(t)
	quota := readAs[map[string]struct{ Kind string }](t, s.get("viewer", "/api/quota"))
	if quota["glm"].Kind != "unavailable" || quota["opencode"].Kind != "not_configured" {
		t.Errorf("quota: %v", quota)
	}
}

func TestFilesComeWholeInWindowsAndInRanges(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	text := ""
	for n := range 1000 {
		text += fmt.Sprintf("line %d\n", n+1)
	}
	for name, content := range map[string]string{"a.txt": text, "page.html": "<script>alert(1)</script>", "ü \"x\".png": "png", "empty": "", "noend.txt": "one\ntwo"} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	must(t, os.Mkdir(filepath.Join(folder, "sub"), 0o755))
	id := s.prompted(folder, "hello")
	file := func(path, more string, header ...string) got {
		t.Helper()
		g := s.get("viewer", inInstance("fs/file"+fileQuery(id, path, more)), header...)
		head := s.send("HEAD", "viewer", inInstance("fs/file"+fileQuery(id, path, more)), "", header...)
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Range", "Content-Disposition", firstLineHeader} {
			if head.status != g.status || head.body != "" || name != "Content-Length" && head.header.Get(name) != g.header.Get(name) {
				t.Errorf("HEAD of %s%s: %s %v, GET: %d %v", path, more, head, head.header, g.status, g.header)
			}
		}
		return g
	}
	if g := file("a.txt", ""); g.body != text || g.header.Get("Content-Type") != "text/plain; charset=utf-8" || g.header.Get("Content-Length") != fmt.Sprint(len(text)) ||
		g.header.Get("Content-Disposition") != `inline; filename="a.txt"; filename*=UTF-8''a.txt` {
		t.Errorf("a whole file: %s %v", g, g.header)
	}
	if g := file("ü \"x\".png", "&dl=1"); g.header.Get("Content-Type") != "image/png" || g.header.Get("Content-Disposition") != `attachment; filename="_ _x_.png"; filename*=UTF-8''%C3%BC%20%22x%22.png` {
		t.Errorf("a download: %v", g.header)
	}
	if g := file("page.html", ""); !strings.Contains(g.header.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(g.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("a page may act: %v", g.header)
	}
	if g := file("a.txt", "", "Range", "bytes=5-9"); g.status != 206 || g.body != text[5:10] {
		t.Errorf("a range: %s", g)
	}
	for _, c := range []struct {
		path, query string
		status      int
		body        string
		header      string // first line, or range
	}{
		{"a.txt", "&offset=5&length=10", 206, text[5:15], fmt.Sprintf("bytes 5-14/%d", len(text))},
		{"a.txt", "&offset=8880", 206, text[8880:], fmt.Sprintf("bytes 8880-%d/%d", len(text)-1, len(text))},
		{"a.txt", fmt.Sprintf("&offset=%d&length=100", len(text)-3), 206, text[len(text)-3:], fmt.Sprintf("bytes %d-%d/%d", len(text)-3, len(text)-1, len(text))},
		{"a.txt", "&length=7", 206, text[:7], fmt.Sprintf("bytes 0-6/%d", len(text))},
		{"a.txt", fmt.Sprintf("&offset=%d", len(text)), 416, "", fmt.Sprintf("bytes */%d", len(text))},
		{"empty", "&offset=0", 416, "", "bytes */0"},
		{"a.txt", "&offset=-1", 400, "", ""},
		{"a.txt", "&length=0", 400, "", ""},
		{"a.txt", "&offset=x", 400, "", ""},
		{"a.txt", "&line=1&offset=1", 400, "", ""},

		{"a.txt", "&line=1&limit=2", 200, "line 1\nline 2\n", "1"},
		{"a.txt", "&limit=1", 200, "line 1\n", "1"},
		{"a.txt", "&line=999", 200, "line 999\nline 1000\n", "999"},
		{"a.txt", "&line=1001", 200, "", "1001"},
		{"a.txt", "&line=99999", 200, "", "1001"},
		{"noend.txt", "&line=2&limit=5", 200, "two\n", "2"},
		{"empty", "&line=1", 200, "", "1"},
		{"a.txt", "&line=0", 400, "", ""},
		{"a.txt", "&line=1&limit=-5", 400, "", ""},

		{"", "", 400, "", ""},
		{"sub", "", 400, "", ""},
		{"none", "", 404, "", ""},
		{"../a.txt", "", 403, "", ""},
		{"/etc/passwd", "", 403, "", ""},
		{"a\x00.txt", "", 400, "", ""},
	} {
		g := file(c.path, c.query)
		header := g.header.Get(firstLineHeader) + g.header.Get("Content-Range")
		if g.status != c.status || g.status < 300 && g.body != c.body || c.header != header {
			t.Errorf("%s%s: %s (%s), want %d %.100q (%s)", c.path, c.query, g, header, c.status, c.body, c.header)
		}
	}
	if g := file("a.txt", "&line=1&limit=1000000"); strings.Count(g.body, "\n") != 1000 {
		t.Errorf("a window larger than the file: %d lines", strings.Count(g.body, "\n"))
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if g := s.send(method, "admin", inInstance("fs/file"+fileQuery(id, "a.txt", "")), ""); g.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, g)
		}
	}
	list := readAs[listing](t, s.get("viewer", inInstance("fs/list"+fileQuery(id, "", ""))))
	if list.Root != folder || len(list.Entries) != 6 || list.Entries[0].Name != "sub" || list.Truncated {
		t.Errorf("list: %+v", list)
	}
	picked := readAs[picked](t, s.get("operator", "/api/fs/list?path="+url.QueryEscape(folder)))
	if picked.Path != folder || picked.Parent != filepath.Dir(folder) || len(picked.Entries) != 1 || picked.Entries[0].Name != "sub" {
		t.Errorf("folder picker: %+v", picked)
	}
}

func TestAHugeFileTakesNoMemory(t *testing.T) {
	const size = 1 << 30
	s := newSite(t)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "huge"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(folder, "huge"), size)) // takes no room on the disk either
	id := s.prompted(folder, "hello")
	for _, query := range []string{"", "&offset=1", "&line=1"} {
		r, err := http.NewRequest("GET", s.server.URL+inInstance("fs/file"+fileQuery(id, "huge", query)), nil)
		must(t, err)
		r.Header.Set("As", "viewer")
		before := allocated()
		response, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		n, err := io.Copy(io.Discard, response.Body)
		must(t, err)
		must(t, response.Body.Close())
		if grown := allocated() - before; n < size-1 || grown > 16<<20 {
			t.Errorf("huge%s: %d bytes, %d bytes allocated", query, n, grown)
		}
	}
}
