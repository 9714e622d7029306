package wire

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Kind is which of the four message classes a line is.
type Kind uint8

// Invalid is the zero Kind: not a message.
const (
	Invalid      Kind = iota
	Request           // id and method
	Notification      // method, no id
	Response          // id and result
	Error             // id and error
)

func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	case Error:
		return "error"
	}
	return "invalid"
}

// Envelope is the outside of one message. All slices are views of the line,
// except decoded strings that had escapes; a member that was not there is nil.
type Envelope struct {
	Kind   Kind
	ID     []byte // the raw token as it came: a string, 0, negative, 2^53+1
	Method []byte // decoded
	Params []byte // raw, like the next three
	Result []byte
	Error  []byte
	Trace  []byte

	// Members of params that routing needs, if params is an object. Of repeated
	// keys the last one counts, as in JSON.parse; one of another type than
	// stated here counts as missing.
	SessionID []byte // decoded
	Seq       uint64
	HasSeq    bool
	Type      []byte // decoded
	Payload   []byte // raw
}

// The two ways in which a line can be bad. Their texts, and those of the errors
// that wrap [ErrNotMessage], hold nothing of the line and may go to a client.
var (
	ErrNotJSON    = errors.New("not JSON in UTF-8")
	ErrNotMessage = errors.New("not a protocol message")
)

var (
	errNotObject    = notMessage("a message is a JSON object")
	errUnknownKey   = notMessage("only id, method, params, result, error and trace may stand at the top")
	errDuplicateKey = notMessage("a key stands there twice")
	errBadID        = notMessage("id must be a string or an integer")
	errBadMethod    = notMessage("method must be a non-empty string without space around it")
	errBadError     = notMessage("error must be an object")
	errBadTrace     = notMessage("trace must be an object")
	errMixed        = notMessage("it must be a request, a notification, a response or an error, not a mixture")
)

func notMessage(reason string) error { return fmt.Errorf("%w: %s", ErrNotMessage, reason) }

// ParseEnvelope checks the whole line and fills e, in one pass and without
// allocation unless a key or a name has escapes. A nil error means: one JSON
// object in UTF-8, exactly as encoding/json.Valid and utf8.Valid would say, and
// one of the four classes. Else the error is [ErrNotJSON] or wraps
// [ErrNotMessage]; after the latter e.ID is set if there was a usable id, so
// that somebody can be told, and nothing else in e counts.
//
// What stands inside params, result and error is not looked at, beyond the
// members named in [Envelope] and error being an object.
func ParseEnvelope(line []byte, e *Envelope) error {
	*e = Envelope{}
	if !utf8.Valid(line) {
		return ErrNotJSON
	}
	start := skipSpace(line, 0)
	if start >= len(line) || line[start] != '{' {
		if isJSON(line) {
			return errNotObject
		}
		return ErrNotJSON
	}
	p := parser{e: e}
	o := openObject(line, start, 0)
	for o.next() {
		o.at = p.member(unquote(o.key), line, o.at)
	}
	if !atEnd(line, o.at) {
		*e = Envelope{}
		return ErrNotJSON
	}
	if p.fault == nil {
		p.fault = e.classify()
	}
	return p.fault
}

// parser is the state of one ParseEnvelope. It does not hold the line: with line
// and e in one struct the compiler would put every caller's Envelope on the heap.
type parser struct {
	e     *Envelope
	seen  uint8 // one bit for each known key
	fault error // the first thing wrong with the message; scanning goes on, since the line may yet turn out not to be JSON
}

const (
	sawID = 1 << iota
	sawMethod
	sawParams
	sawResult
	sawError
	sawTrace
)

// member takes the top-level member whose value starts at line[i], and returns
// the index after it.
func (p *parser) member(key, line []byte, i int) int {
	var bit uint8
	switch string(key) {
	case "id":
		bit = sawID
	case "method":
		bit = sawMethod
	case "params":
		bit = sawParams
	case "result":
		bit = sawResult
	case "error":
		bit = sawError
	case "trace":
		bit = sawTrace
	}
	var end int
	if bit == sawParams && i < len(line) && line[i] == '{' {
		end = p.e.scanParams(line, i)
	} else {
		end = skipValue(line, i, 1)
	}
	if end == invalid {
		return invalid
	}
	switch {
	case bit == 0:
		p.blame(errUnknownKey)
	case p.seen&bit != 0:
		p.blame(errDuplicateKey)
		if bit == sawID {
			p.e.ID = nil // which of the two would be a guess
		}
	default:
		p.seen |= bit
		p.set(bit, line[i:end])
	}
	return end
}

func (p *parser) set(bit uint8, value []byte) {
	e := p.e
	switch bit {
	case sawID:
		if isString(value) || isInteger(value) {
			e.ID = value
		} else {
			p.blame(errBadID)
		}
	case sawMethod:
		if e.Method = stringOrNil(value); !isMethod(e.Method) {
			p.blame(errBadMethod)
		}
	case sawParams:
		e.Params = value
	case sawResult:
		e.Result = value
	case sawError:
		if e.Error = value; value[0] != '{' {
			p.blame(errBadError)
		}
	case sawTrace:
		if e.Trace = value; value[0] != '{' {
			p.blame(errBadTrace)
		}
	}
}

func (p *parser) blame(err error) {
	if p.fault == nil {
		p.fault = err
	}
}

// scanParams is skipObject for the params at line[i] that also picks the
// members that routing needs.
func (e *Envelope) scanParams(line []byte, i int) int {
	o := openObject(line, i, 1)
	for o.next() {
		start := o.at
		if o.at = skipValue(line, start, 2); o.at == invalid {
			break
		}
		value := line[start:o.at]
		switch string(unquote(o.key)) {
		case "sessionId":
			e.SessionID = stringOrNil(value)
		case "seq":
			e.Seq, e.HasSeq = parseUint64(value)
		case "type":
			e.Type = stringOrNil(value)
		case "payload":
			e.Payload = value
		}
	}
	return o.at
}

// stringOrNil decodes a valid JSON value if it is a string.
func stringOrNil(value []byte) []byte {
	if !isString(value) {
		return nil
	}
	return unquote(value)
}

// isMethod refuses names with space around them. The app-server trims method
// names, so " x" would be checked here as one method and run there as another.
// (Security)
func isMethod(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	first, _ := utf8.DecodeRune(name)
	last, _ := utf8.DecodeLastRune(name)
	return !isTrimmed(first) && !isTrimmed(last)
}

// isTrimmed covers what JavaScript's trim takes away: white space and the byte
// order mark.
func isTrimmed(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// classify sets Kind from what is there.
func (e *Envelope) classify() error {
	answer := e.Result != nil || e.Error != nil
	switch {
	case e.Method != nil && !answer && e.ID != nil:
		e.Kind = Request
	case e.Method != nil && !answer:
		e.Kind = Notification
	case e.Method != nil || e.ID == nil || e.Params != nil || e.Trace != nil:
		return errMixed
	case e.Result != nil && e.Error == nil:
		e.Kind = Response
	case e.Error != nil && e.Result == nil:
		e.Kind = Error
	default:
		return errMixed
	}
	return nil
}
