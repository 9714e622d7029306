package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll is the whole stream as one string: lines in quotes, errors as they say.
func readAll(r *Reader) string {
	var s strings.Builder
	for {
		line, err := r.Next()
		var long *LineTooLongError
		switch {
		case errors.As(err, &long):
			fmt.Fprintf(&s, "long(%d) ", long.Bytes)
		case err != nil:
			fmt.Fprint(&s, err)
			return s.String()
		default:
			fmt.Fprintf(&s, "%q ", line)
		}
	}
}

func TestLinesEndAtLFOnly(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", `EOF`},
		{"a\nb\n", `"a" "b" EOF`},
		{"a\r\nb\r\r\n", `"a" "b\r" EOF`},
		{"a\rb\x0bc\x0cd\u0085e\u2028f\u2029g\x00\n", `"a\rb\vc\fd\u0085e\u2028f\u2029g\x00" EOF`},
		{"\n\r\n \t\r\n a \n\n", `" a " EOF`},
		{"a\nlast", `"a" "last" EOF`},
		{"a\nlast\r", `"a" "last" EOF`},
		{"a\n \r", `"a" EOF`},
		{"12345678901234567890\n123456789012345678901\n1\n", `"12345678901234567890" long(21) "1" EOF`},
		{"1\n123456789012345678901", `"1" long(21) EOF`},
		{strings.Repeat("x", 3*usualBuffer) + "\nok\n", fmt.Sprintf(`long(%d) "ok" EOF`, 3*usualBuffer)},
		{strings.Repeat("x", 3*usualBuffer), fmt.Sprintf(`long(%d) EOF`, 3*usualBuffer)},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytewise": iotest.OneByteReader, "data with EOF": iotest.DataErrReader,
		} {
			if got := readAll(NewReader(wrap(strings.NewReader(tt.in)), 20)); got != tt.want {
				t.Errorf("%s %.60q\n got %s\nwant %s", name, tt.in, got, tt.want)
			}
		}
	}
}

func TestReadErrorEndsTheStreamWithoutThePiece(t *testing.T) {
	src := io.MultiReader(strings.NewReader("a\npiece"), iotest.ErrReader(io.ErrClosedPipe))
	if got, want := readAll(NewReader(src, 0)), `"a" io: read/write on closed pipe`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := readAll(NewReader(silent{}, 0)), io.ErrNoProgress.Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// silent is a reader that breaks the rules.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestBufferGrowsToTheCapAndShrinksAgain(t *testing.T) {
	const limit = 5 << 20
	atLimit := strings.Repeat("x", limit)
	in := "a\n" + atLimit + "\nb\n" + atLimit + "y\nc\n"
	r := NewReader(strings.NewReader(in), limit)
	for _, want := range []string{"a", atLimit, "b"} {
		line, err := r.Next()
		if err != nil || string(line) != want {
			t.Fatalf("Next = %.20q (%d bytes), %v; want %d bytes", line, len(line), err, len(want))
		}
		if len(r.buf) > limit+1 {
			t.Errorf("the buffer has %d bytes, more than the cap", len(r.buf))
		}
	}
	if len(r.buf) != usualBuffer {
		t.Errorf("after a line of %d bytes the buffer keeps %d", limit, len(r.buf))
	}
	if got, want := readAll(r), fmt.Sprintf(`long(%d) "c" EOF`, limit+1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// chunks gives one piece a Read, and an error when it is asked for more.
type chunks []string

func (c *chunks) Read(p []byte) (int, error) {
	if len(*c) == 0 {
		return 0, errors.New("read past the batch")
	}
	n := copy(p, (*c)[0])
	*c = (*c)[1:]
	return n, nil
}

func TestMoreSaysWhetherNextNeedsToRead(t *testing.T) {
	// One batch: what follows "b" is blank, over the limit or unfinished, so that
	// "b" is the last line anybody will get from it.
	for _, tail := range []string{"", "\n", " \r\n\n", "123456789\n", "\n123456789\nc\n", "part"} {
		r := NewReader(&chunks{"a\n\r\nb\n" + tail}, 8)
		if line, err := r.Next(); err != nil || string(line) != "a" || !r.More() || !r.More() {
			t.Fatalf("tail %q: Next = %q, %v, More = %v; want a, more", tail, line, err, r.More())
		}
		if line, err := r.Next(); err != nil || string(line) != "b" || r.More() {
			t.Errorf("tail %q: Next = %q, %v, More = %v; want b, no more", tail, line, err, r.More())
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n\xe2\x80\xa8\nlong line\nx"), 4, uint8(3))
	f.Add([]byte(" \n\r\n1234\n12345\n"), 4, uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, limit int, chunk uint8) {
		limit = max(1, min(limit, 1<<20))
		// Small buffers and small reads reach every edge with small inputs.
		r := NewReader(&slowReader{in, int(chunk)%16 + 1}, limit)
		r.buf = make([]byte, 4)
		var want strings.Builder
		for line := range bytes.SplitAfterSeq(in, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			switch {
			case len(line) > limit:
				fmt.Fprintf(&want, "long(%d) ", len(line))
			case len(bytes.Trim(line, " \t\r")) > 0:
				fmt.Fprintf(&want, "%q ", bytes.TrimSuffix(line, []byte("\r")))
			}
		}
		want.WriteString("EOF")
		if got := readAll(r); got != want.String() {
			t.Fatalf("input %q, limit %d\n got %s\nwant %s", in, limit, got, want.String())
		}
	})
}

type slowReader struct {
	rest []byte
	size int
}

func (s *slowReader) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.size)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
