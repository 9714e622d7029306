package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"zcodehub/auth"
)

const (
	firstLineHeader = "X-Zcode-First-Line"
	// windowLines and maxWindowLines are the contract's.
	windowLines    = 200
	maxWindowLines = 5000
	// skipTime bounds the search for the start of a window: many gigabytes into a file, which nobody reads by lines.
	skipTime = 20 * time.Second
)

// workspace opens the folder of the session that a request names. A session that does not exist, or not for this
// principal, is 403 before anything of the file system is touched. It has answered if the folder is nil.
func (a *HTTP) workspace(w http.ResponseWriter, r *http.Request, p *auth.Principal) *folder {
	s, ok, err := a.Directory.Find(r.Context(), p, r.URL.Query().Get("sessionId"), settled)
	switch {
	case err != nil:
		a.failed(w, err)
		return nil
	case !ok:
		fail(w, http.StatusForbidden, "no_session", "there is no such session")
		return nil
	}
	f, err := openFolder(s.Workspace, a.Private)
	if err != nil {
		a.fileFailed(w, err)
		return nil
	}
	return f
}

// fileFailed answers why a path is not served.
func (a *HTTP) fileFailed(w http.ResponseWriter, err error) {
	a.Log.Debug("a file was not served", "error", err)
	switch {
	case errors.Is(err, errOutside):
		fail(w, http.StatusForbidden, "outside", errOutside.Error())
	case errors.Is(err, errKind):
		fail(w, http.StatusForbidden, "kind", errKind.Error())
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, "no_file", "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		fail(w, http.StatusForbidden, "permission", "the hub may not read it")
	case errors.Is(err, fs.ErrInvalid), errors.Is(err, syscall.EINVAL):
		fail(w, http.StatusBadRequest, "path", "this is no path")
	case errors.Is(err, syscall.ENOTDIR):
		fail(w, http.StatusBadRequest, "not_a_folder", "this is not a folder")
	case errors.Is(err, syscall.EISDIR):
		fail(w, http.StatusBadRequest, "a_folder", "this is a folder")
	case errors.Is(err, syscall.ELOOP):
		fail(w, http.StatusForbidden, "outside", "the links of this path lead nowhere")
	default:
		a.Log.Warn("a file could not be read", "error", err)
		fail(w, http.StatusInternalServerError, "internal", "the file could not be read; the hub's log says why")
	}
}

// listing is the answer of fs/list.
type listing struct {
	Root      string  `json:"root"`
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

func (a *HTTP) listFiles(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	f := a.workspace(w, r, p)
	if f == nil {
		return
	}
	defer f.close()
	entries, more, err := f.list(r.Context(), r.URL.Query().Get("path"), func(string) bool { return true })
	if err != nil {
		a.fileFailed(w, err)
		return
	}
	writeAnswer(w, listing{f.path, entries, more})
}

func (a *HTTP) serveFile(w http.ResponseWriter, r *http.Request, p *auth.Principal) {
	query := r.URL.Query()
	byLine := query.Has("line") || query.Has("limit")
	byOffset := query.Has("offset") || query.Has("length")
	if byLine && byOffset {
		fail(w, http.StatusBadRequest, "window", "ask for lines or for bytes, not for both")
		return
	}
	f := a.workspace(w, r, p)
	if f == nil {
		return
	}
	defer f.close()
	file, info, err := f.open(query.Get("path"))
	if err == nil && info.IsDir() {
		_ = file.Close()
		err = syscall.EISDIR
	}
	if err != nil {
		a.fileFailed(w, err)
		return
	}
	defer file.Close()
	t := a.transfer(w, r, p)
	defer t.end()
	switch {
	case byLine:
		a.serveLines(t, r, file)
	case byOffset:
		a.serveBytes(t, r, file, info)
	default:
		describeFile(w.Header(), filepath.Base(info.Name()), query.Get("dl") == "1")
		http.ServeContent(t, r, "", info.ModTime(), file)
	}
}

// describeFile says what a file is by its name, and keeps whatever is in it from acting: it comes from the hub's own
// origin.
func describeFile(h http.Header, name string, download bool) {
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	disposition := "inline"
	if download {
		disposition = "attachment"
	}
	h.Set("Content-Disposition", fmt.Sprintf(`%s; filename="%s"; filename*=UTF-8''%s`, disposition, plainName(name), encodedName(name)))
}

// plainName is what is left of a name for those who read ASCII only, within quotes.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
}

// encodedName is a name in the form of RFC 8187.
func encodedName(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// serveBytes answers a window of bytes. Only the end of the file makes it shorter than asked.
func (a *HTTP) serveBytes(w http.ResponseWriter, r *http.Request, file *os.File, info fs.FileInfo) {
	size := info.Size()
	offset, err := number(r.URL.Query().Get("offset"), 0, 0)
	length, err2 := number(r.URL.Query().Get("length"), size, 1)
	if err != nil || err2 != nil {
		fail(w, http.StatusBadRequest, "window", "offset has to be a number from 0 on, length one from 1 on")
		return
	}
	if offset >= size {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		fail(w, http.StatusRequestedRangeNotSatisfiable, "window", "the file ends before this offset")
		return
	}
	length = min(length, size-offset)
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		a.fileFailed(w, err)
		return
	}
	describeFile(w.Header(), filepath.Base(info.Name()), r.URL.Query().Get("dl") == "1")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, offset+length-1, size))
	w.WriteHeader(http.StatusPartialContent)
	if r.Method != http.MethodHead {
		_, _ = io.CopyN(w, file, length) // the client may be gone; it sees that bytes are missing
	}
}

// serveLines answers a window of lines. Only the end of the file makes it shorter than asked.
func (a *HTTP) serveLines(w http.ResponseWriter, r *http.Request, file *os.File) {
	line, err := number(r.URL.Query().Get("line"), 1, 1)
	limit, err2 := number(r.URL.Query().Get("limit"), windowLines, 1)
	if err != nil || err2 != nil {
		fail(w, http.StatusBadRequest, "window", "line and limit have to be numbers from 1 on")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), skipTime)
	defer cancel()
	first, rest, err := skipLines(ctx, file, line)
	if errors.Is(err, context.DeadlineExceeded) {
		fail(w, http.StatusServiceUnavailable, "too_far", "this line is too far into a large file")
		return
	}
	if err != nil {
		a.fileFailed(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(firstLineHeader, strconv.FormatInt(first, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead || first < line {
		return
	}
	if err := copyLines(w, io.MultiReader(strings.NewReader(string(rest)), file), min(limit, maxWindowLines)); err != nil {
		panic(http.ErrAbortHandler) // what was sent looks whole otherwise: the end of a window is the end of the file
	}
}

const (
	// chunkTime is how long the network may take for one write of at most 32 KiB: the slowest phone does it.
	chunkTime = 30 * time.Second
	// transferTime is how long one answer may take: 2 GiB at 5 Mbit/s.
	transferTime = time.Hour
)

// A transfer is an answer that may take long: the server's own bound for requests gives way to one for each write, as
// long as the principal's credential is good.
type transfer struct {
	http.ResponseWriter
	control   *http.ResponseController
	principal *auth.Principal
	good      func(*auth.Principal) bool
	until     time.Time
}

var errTransferOver = errors.New("the transfer took too long, or its credential ended")

func (a *HTTP) transfer(w http.ResponseWriter, r *http.Request, p *auth.Principal) *transfer {
	t := &transfer{ResponseWriter: w, control: http.NewResponseController(w), principal: p, good: a.Good, until: time.Now().Add(transferTime)}
	// The bound for reading the request would end its context as well.
	_ = t.control.SetReadDeadline(t.until) // not every connection has one
	_ = t.control.SetWriteDeadline(t.deadline())
	return t
}

func (t *transfer) deadline() time.Time {
	next := time.Now().Add(chunkTime)
	if next.After(t.until) {
		return t.until
	}
	return next
}

func (t *transfer) Write(p []byte) (int, error) {
	if !time.Now().Before(t.until) || !t.good(t.principal) {
		return 0, errTransferOver
	}
	_ = t.control.SetWriteDeadline(t.deadline())
	return t.ResponseWriter.Write(p)
}

// end gives the rest of the answer, which the server still holds, its time.
func (t *transfer) end() { _ = t.control.SetWriteDeadline(t.deadline()) }
