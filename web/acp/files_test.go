package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zcodehub/internal/hubtest"
)

const (
	insideText  = "inside\n"
	outsideText = "outside: nobody may read this\n"
)

// tree is a workspace beside something that is none of its readers' business.
//
//	outside.txt
//	outside/secret.txt
//	work/in.txt, work/sub/deep.txt, work/sub/up -> ../in.txt
//	work/link.txt -> ../outside.txt, work/folder -> ../outside, work/absolute -> /.../outside.txt, work/loop -> loop
func tree(t testing.TB) (dir string, work *folder) {
	t.Helper()
	dir = t.TempDir()
	for _, sub := range []string{"outside", "work/sub"} {
		must(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	for name, text := range map[string]string{"outside.txt": outsideText, "outside/secret.txt": outsideText, "work/in.txt": insideText, "work/sub/deep.txt": insideText} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, target := range map[string]string{"work/link.txt": "../outside.txt", "work/folder": "../outside", "work/absolute": filepath.Join(dir, "outside.txt"),
		"work/loop": "loop", "work/sub/up": "../in.txt", "work/gone": "nowhere"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	return dir, opened(t, filepath.Join(dir, "work"))
}

func opened(t testing.TB, path string, private ...string) *folder {
	t.Helper()
	f, err := openFolder(path, private)
	must(t, err)
	t.Cleanup(f.close)
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read is what the path gives to a reader.
func (f *folder) read(path string) (string, error) {
	file, info, err := f.open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info.IsDir() {
		return "", syscall.EISDIR
	}
	text, err := io.ReadAll(file)
	return string(text), err
}

func TestPathsLeadOnlyIntoTheWorkspace(t *testing.T) {
	dir, work := tree(t)
	for _, c := range []struct {
		path string
		want error // nil: the text inside
	}{
		{"in.txt", nil},
		{"./sub/../in.txt", nil},
		{"sub/up", nil},
		{"sub/deep.txt", nil},
		{filepath.Join(dir, "work/in.txt"), nil},
		{filepath.Join(dir, "work/sub/../in.txt"), nil},
		{"", syscall.EISDIR},
		{".", syscall.EISDIR},

		{"..", errOutside},
		{"../outside.txt", errOutside},
		{"sub/../../outside.txt", errOutside},
		{filepath.Join(dir, "outside.txt"), errOutside},
		{"/etc/passwd", errOutside},
		{"/", errOutside},
		{"link.txt", errOutside},
		{"folder/secret.txt", errOutside},
		{"folder", errOutside},
		{"absolute", errOutside},

		{"nothing", fs.ErrNotExist},
		{"gone", fs.ErrNotExist},
		{"in.txt/below", fs.ErrNotExist},
		{"%2e%2e/outside.txt", fs.ErrNotExist},
		{"..%2foutside.txt", fs.ErrNotExist},
		{`..\outside.txt`, fs.ErrNotExist},
		{"．．/outside.txt", fs.ErrNotExist},
		{strings.Repeat("a", 300), fs.ErrNotExist},
		{strings.Repeat("a/", 10_000), fs.ErrNotExist},
		{"in.txt\x00.png", fs.ErrInvalid},
		{"\x00", fs.ErrInvalid},
	} {
		text, err := work.read(c.path)
		if !errors.Is(err, c.want) || (c.want == nil) != (text == insideText) {
			t.Errorf("%.60q: read %q, %v; want %v", c.path, text, err, c.want)
		}
	}
	if _, err := work.read("loop"); err == nil {
		t.Error("a link to itself was followed")
	}
}

func TestTheWholeMachineIsNoWorkspace(t *testing.T) {
	link := filepath.Join(t.TempDir(), "all")
	must(t, os.Symlink("/", link))
	for _, path := range []string{"/", "/.", "//", "/tmp/..", link, "", "relative"} {
		if f, err := openFolder(path, nil); !errors.Is(err, errOutside) {
			t.Errorf("%q: opened %v, %v", path, f, err)
		}
	}
	if _, err := openFolder(filepath.Join(t.TempDir(), "gone"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a workspace that is gone: %v", err)
	}
}

// within fails the test if f takes longer than anything that does not wait.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(hubtest.Patience):
		t.Fatalf("%s is waiting", what)
	}
}

func TestOnlyFilesAndFoldersAreOpenedAndNothingWaits(t *testing.T) {
	dir, work := tree(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "work/fifo"), 0o644))
	must(t, os.Symlink("fifo", filepath.Join(dir, "work/to-fifo")))
	ln, err := net.Listen("unix", filepath.Join(dir, "work/s"))
	must(t, err)
	defer ln.Close()
	within(t, "opening a FIFO or a socket", func() {
		for _, path := range []string{"fifo", "to-fifo", "s"} {
			if _, err := work.read(path); !errors.Is(err, errKind) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if _, err := openFolder(filepath.Join(dir, "work/fifo"), nil); err == nil {
			t.Error("a FIFO is a workspace")
		}
		entries, _, err := work.list(context.Background(), "", func(string) bool { return true })
		must(t, err)
		for _, e := range entries {
			if e.Name == "fifo" || e.Name == "s" {
				t.Errorf("%s is listed as %s", e.Name, e.Kind)
			}
		}
	})
}

// Somebody swaps what stands under a name, again and again, while it is read: for a link that leads out, for a folder of
// such, and for a FIFO.
func TestWhatIsSwappedDuringAReadLeadsNowhereElse(t *testing.T) {
	dir, work := tree(t)
	at := func(name string) string { return filepath.Join(dir, "work", name) }
	must(t, os.Mkdir(at("real"), 0o755))
	must(t, os.WriteFile(at("real/secret.txt"), []byte(insideText), 0o644))
	makers := []func(name string){
		func(name string) { _ = os.WriteFile(name, []byte(insideText), 0o644) },
		func(name string) { _ = os.Symlink("../outside.txt", name) },
		func(name string) { _ = os.Symlink("in.txt", name) },
		func(name string) { _ = syscall.Mkfifo(name, 0o644) },
	}
	folders := []string{"real", "../outside", "folder"}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			makers[n%len(makers)](at("next"))
			_ = os.Rename(at("next"), at("swapped"))
			_ = os.Symlink(folders[n%len(folders)], at("next"))
			_ = os.Rename(at("next"), at("swapped-folder"))
		}
	})
	inside := 0
	within(t, "a read among swaps", func() {
		for range 5000 {
			for _, path := range []string{"swapped", "swapped-folder/secret.txt"} {
				text, err := work.read(path)
				switch {
				case text == insideText:
					inside++
				case err == nil && text != "": // "" is a file that was only just made
					t.Errorf("%s: read %q", path, text)
				}
			}
		}
	})
	close(stop)
	swapping.Wait()
	if inside == 0 {
		t.Error("no read found what was inside: the test proves nothing")
	}
}

// The hub's own secrets make an admin of a viewer, so they are not read even where the workspace holds them.
func TestSecretsOfTheHubAreServedByNoName(t *testing.T) {
	dir, _ := tree(t)
	at := func(name string) string { return filepath.Join(dir, "work", name) }
	must(t, os.MkdirAll(at("state/keys"), 0o700))
	for _, name := range []string{"state/keys/key", "state/devices.db", "hub.toml"} {
		must(t, os.WriteFile(at(name), []byte(outsideText), 0o600))
	}
	must(t, os.Symlink("state/keys/key", at("by-link")))
	must(t, os.Symlink("state", at("by-folder")))
	must(t, os.Link(at("state/keys/key"), at("by-hard-link")))
	work := opened(t, filepath.Join(dir, "work"), at("state"), at("hub.toml"), at("not-there"))
	for _, path := range []string{"state/keys/key", "state/devices.db", "hub.toml", "by-link", "by-folder/keys/key", "by-hard-link", "state/../state/keys/key"} {
		if text, err := work.read(path); !errors.Is(err, errOutside) {
			t.Errorf("%s: read %q, %v", path, text, err)
		}
	}
	for _, path := range []string{"state", "state/keys", "by-folder"} {
		if _, _, err := work.list(context.Background(), path, func(string) bool { return true }); !errors.Is(err, errOutside) {
			t.Errorf("%s is listed: %v", path, err)
		}
	}
	if text, err := work.read("in.txt"); text != insideText {
		t.Errorf("beside them: %q, %v", text, err)
	}
}

func TestNothingIsReadOfProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has files that tell of processes")
	}
	for _, workspace := range []string{"/proc", fmt.Sprintf("/proc/%d", os.Getpid())} {
		f := opened(t, workspace)
		for _, name := range []string{"self/environ", "environ", "self/maps", "maps", "self/mem", "mem", "self", "."} {
			file, _, err := f.open(name)
			if err == nil {
				_ = file.Close()
				t.Errorf("%s in %s can be read", name, workspace)
			} else if !errors.Is(err, errOutside) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s in %s: %v", name, workspace, err)
			}
		}
	}
}

func TestListsAreInOrderBoundedAndFollowNoLink(t *testing.T) {
	dir, work := tree(t)
	entries, more, err := work.list(context.Background(), "", func(string) bool { return true })
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Kind+" "+e.Name)
		if e.MTime == 0 || (e.Kind == kindFile) != (e.Size > 0) {
			t.Errorf("%s: size %d, mtime %d", e.Name, e.Size, e.MTime)
		}
	}
	want := "dir sub, symlink absolute, symlink folder, symlink gone, file in.txt, symlink link.txt, symlink loop"
	if got := strings.Join(names, ", "); got != want || more {
		t.Errorf("listed %s (more %v)\nwant %s", got, more, want)
	}
	for path, want := range map[string]error{"in.txt": syscall.ENOTDIR, "folder": errOutside, "..": errOutside, "none": fs.ErrNotExist} {
		if _, _, err := work.list(context.Background(), path, func(string) bool { return true }); !errors.Is(err, want) {
			t.Errorf("list of %s: %v, want %v", path, err, want)
		}
	}

	const many = 2 * maxEntries
	for _, n := range rand.Perm(many) {
		must(t, os.WriteFile(filepath.Join(dir, "work/sub", fmt.Sprintf("f%05d", n)), nil, 0o644))
	}
	must(t, os.Mkdir(filepath.Join(dir, "work/sub/zz"), 0o755))
	entries, more, err = work.list(context.Background(), "sub", func(string) bool { return true })
	must(t, err)
	if len(entries) != maxEntries || !more || entries[0].Name != "zz" || entries[1].Name != "deep.txt" || entries[maxEntries-1].Name != fmt.Sprintf("f%05d", maxEntries-3) {
		t.Errorf("%d entries (more %v), %s, %s … %s", len(entries), more, entries[0].Name, entries[1].Name, entries[len(entries)-1].Name)
	}
	within(t, "a list whose client has gone", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, _, err := work.list(ctx, "sub", func(string) bool { return true }); !errors.Is(err, context.Canceled) {
			t.Errorf("a list whose client has gone: %v", err)
		}
	})
}

// lines is the window by another way.
func lines(text string, line, limit int) (body string, first int) {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if line > len(all) {
		return "", len(all) + 1
	}
	body = strings.Join(all[line-1:min(len(all), line-1+limit)], "")
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return body, line
}

func window(t *testing.T, text string, line, limit int) (string, int) {
	t.Helper()
	reader := strings.NewReader(text)
	first, rest, err := skipLines(context.Background(), reader, int64(line))
	must(t, err)
	var out bytes.Buffer
	if first >= int64(line) {
		must(t, copyLines(&out, io.MultiReader(bytes.NewReader(rest), reader), int64(limit)))
	}
	return out.String(), int(first)
}

func FuzzWindowsOfLinesAreThoseOfTheFile(f *testing.F) {
	f.Add("", 1, 200)
	f.Add("a\nb\nc", 2, 1)
	f.Add("a\nb\n", 3, 1)
	f.Add("\n\n\n", 2, 5)
	f.Add(strings.Repeat("x", lineBuffer)+"\n"+strings.Repeat("y\n", lineBuffer), 2, 100)
	f.Add(strings.Repeat("line\r\n", lineBuffer), lineBuffer-1, 5)
	f.Fuzz(func(t *testing.T, text string, line, limit int) {
		if line < 1 || limit < 1 || line > 1<<20 || limit > 1<<20 {
			return
		}
		body, first := window(t, text, line, limit)
		wantBody, wantFirst := lines(text, line, limit)
		if body != wantBody || first != wantFirst {
			t.Errorf("lines %d+%d of %.80q: %.80q from %d, want %.80q from %d", line, limit, text, body, first, wantBody, wantFirst)
		}
	})
}

func FuzzPathsOpenNothingOutside(f *testing.F) {
	for _, path := range []string{"in.txt", "../outside.txt", "sub/../../outside", "folder/secret.txt", "/etc/passwd", "a\x00b", "absolute", "sub/up/..", "./././/in.txt"} {
		f.Add(path)
	}
	dir, work := tree(f)
	f.Fuzz(func(t *testing.T, path string) {
		file, info, err := work.open(path)
		if err != nil {
			return
		}
		defer file.Close()
		inside := false
		_ = filepath.WalkDir(filepath.Join(dir, "work"), func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			own, err := e.Info()
			inside = inside || err == nil && os.SameFile(own, info)
			return err
		})
		if !inside {
			t.Fatalf("%q opened what is not in the workspace", path)
		}
	})
}

// A line may be as long as the file: memory does not grow with it.
func TestAWindowOfOneEndlessLineTakesNoMemory(t *testing.T) {
	const size = 256 << 20
	counting := &counter{}
	before := allocated()
	must(t, copyLines(counting, io.LimitReader(endless{}, size), 1))
	first, _, err := skipLines(context.Background(), io.LimitReader(endless{}, size), 2)
	must(t, err)
	if counting.n != size+1 || first != 2 {
		t.Errorf("wrote %d bytes, line 2 is line %d", counting.n, first)
	}
	if grown := allocated() - before; grown > 4<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }
