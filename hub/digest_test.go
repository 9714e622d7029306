package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// digest tells runs of bytes apart.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }
