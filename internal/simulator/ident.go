package simulator

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
)

// ids makes identifiers in the formats of the real app-server. Guarded by the loop.
type ids struct{ *rand.Rand }

// newIDs gives the generator for one purpose. Sessions have one each, so that what one session draws does not depend
// on how its steps interleave with those of others.
func newIDs(seed uint64, purpose string) ids {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return ids{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

func (g ids) uuid() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], g.Uint64())
	binary.BigEndian.PutUint64(b[8:], g.Uint64())
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// span is the shortened uuid that stands for a trace span.
func (g ids) span() string { return g.uuid()[:16] }

// timed is an id such as msg_mu0k74wt_<uuid>: the middle is the creation time in base 36.
func (g ids) timed(prefix string, at int64) string {
	return prefix + "_" + strconv.FormatInt(at, 36) + "_" + g.uuid()
}

// call is a tool call id as providers make them.
func (g ids) call() string { return fmt.Sprintf("call_%016x%08x", g.Uint64(), g.Uint32()) }

func sha256Hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// letters are n random digits and small letters.
func (g ids) letters(n int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}
