// Package wire reads and writes the app-server's wire form: one JSON message a
// line, UTF-8, ended by byte 0x0A and by nothing else.
//
// [Reader] cuts a byte stream into lines. [ParseEnvelope] checks a whole line
// and finds, in the same pass, the few members that routing needs; everything
// else stays the bytes that came. [Members], [Get], [Path] and [Elements] look
// into such bytes without decoding them. The Append functions build messages
// by splicing bytes. The package knows no method names.
//
// Nothing here starts a goroutine. A [Reader] belongs to one goroutine; the
// functions may be called from any. Every []byte that comes out is a view of
// what went in (only keys and names with escapes are copies), so it lives as
// long as that does and must not be written to.
package wire
