package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// ErrorObject is the value of error in an error message.
type ErrorObject struct {
	Code    int
	Message string
	Data    json.RawMessage // any JSON, or empty for none
}

// The Append functions append one message without a line end. Ids, params,
// results and data go in as the bytes they are: valid JSON is the caller's
// duty, and [OneLine] if it comes from somewhere that may put line ends between
// tokens.

// AppendRequest appends {"id":…,"method":…,"params":…}; empty params are left out.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"method":`...)
	return appendCall(dst, method, params)
}

// AppendNotification appends {"method":…,"params":…}; empty params are left out.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"method":`...)
	return appendCall(dst, method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends {"id":…,"result":…}; an empty result is null.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	if len(result) == 0 {
		result = []byte("null")
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends {"id":…,"error":{…}}.
func AppendError(dst, id []byte, e ErrorObject) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, `}}`...)
}

// OneLine makes valid JSON fit on one line: line ends between tokens become
// spaces (inside strings JSON has none). It returns b itself when there is
// nothing to do, and never writes to it.
func OneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	out := bytes.Clone(b)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}
