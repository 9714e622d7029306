package conversation

import (
	"time"

	"zcodehub/internal/wire"
)

var testNow = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// params is what is in a message.
func params(msg []byte) []byte {
	p, _ := wire.Get(msg, "params")
	return p
}
