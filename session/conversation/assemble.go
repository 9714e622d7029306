package conversation

import (
	"bytes"
	"encoding/base64"
	"hash/crc32"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"zcodehub/internal/wire"
)

// Limits of the protocol (4.3, 4.12), the same on both sides of the pipe.
const (
	wireVersion = "3"

	maxLogicalBytes = 16 << 20
	maxFragments    = 1024
	maxAssemblies   = 32
	maxStagedBytes  = 32 << 20
	maxAssemblyTime = 30 * time.Second
	maxIDBytes      = 256
)

// Names of what can go wrong with a frame, as the protocol has them.
const (
	faultMetadataMismatch = "proto.frameAssemblyMetadataMismatch"
	faultOrdinalConflict  = "proto.frameAssemblyOrdinalConflict"
	faultSuperseded       = "proto.frameAssemblySuperseded"
	faultFragmentConflict = "proto.frameAssemblyFragmentConflict"
	faultConcurrentLimit  = "proto.frameAssemblyConcurrentLimit"
	faultBudgetExceeded   = "proto.frameAssemblyBudgetExceeded"
	faultTimeout          = "proto.frameAssemblyTimeout"
	faultTooLarge         = "proto.frameAssemblyTooLarge"
	faultInvalidBase64    = "proto.frameAssemblyInvalidBase64"
	faultLengthMismatch   = "proto.frameAssemblyLengthMismatch"
	faultChecksumMismatch = "proto.frameAssemblyChecksumMismatch"
	faultInvalidUTF8      = "proto.frameAssemblyInvalidUtf8"
	faultInvalidJSON      = "proto.frameAssemblyInvalidJson"
	faultInvalidPayload   = "proto.frameAssemblyInvalidPayload"
)

// A Fault says that a frame was lost. Whoever holds the subscription calls
// Forget, resyncs it from what was applied last, and disregards faults and gaps
// until the recovery comes. Nothing of the frame's content is in it.
type Fault struct {
	Code           string // proto.frameAssembly…
	Topic          string // "" if the message did not even say that
	SubscriptionID string
	Ordinal        uint64
}

func (f *Fault) Error() string {
	return f.Code + ": frame " + strconv.FormatUint(f.Ordinal, 10) + " of " + f.SubscriptionID + " on " + f.Topic + " is lost"
}

// An Assembler makes whole frames of what the app-server sends, for all
// subscriptions of one connection to it.
type Assembler struct {
	subscriptions map[subscriptionKey]*subscription
	assemblies    int // under way
	staged        int // bytes held by them
}

type subscriptionKey struct{ topic, subscriptionID string }

// A subscription is how far one (topic, subscriptionId) has come.
type subscription struct {
	subscriptionKey
	ordinal  uint64 // newest seen
	frameID  string // of that ordinal
	done     bool   // that ordinal was handed out or lost
	assembly *assembly
}

// An assembly is a frame of which fragments are missing.
type assembly struct {
	began        time.Time
	deliveryKind string
	logicalBytes int
	checksum     uint32
	pieces       [][]byte // nil where missing
	missing      int
	bytes        int // in pieces
}

// Add takes the params of one v4/conversation/frame message, a valid JSON object
// in UTF-8, at the time now. It returns a frame that is whole now; neither frame nor
// fault if more is to come or the message is old; or a fault, after which the
// rest of that frame is ignored.
func (a *Assembler) Add(params []byte, now time.Time) (*Frame, *Fault) {
	p, code := readPhysical(params)
	if code != "" {
		return nil, &Fault{Code: code, Topic: string(p.topic), SubscriptionID: string(p.subscriptionID), Ordinal: p.ordinal}
	}
	s := a.subscription(&p)
	if s.ordinal == p.ordinal && s.frameID != string(p.frameID) {
		return nil, a.lose(s, faultOrdinalConflict)
	}
	if p.ordinal < s.ordinal || p.ordinal == s.ordinal && s.done {
		return nil, nil
	}
	if p.ordinal > s.ordinal {
		unfinished := s.assembly != nil
		a.drop(s)
		s.ordinal, s.frameID, s.done = p.ordinal, string(p.frameID), false
		if unfinished && p.deliveryKind != Recovery {
			return nil, a.lose(s, faultSuperseded)
		}
	}
	f := &Frame{Topic: s.topic, SubscriptionID: s.subscriptionID, DeliveryKind: p.deliveryKind}
	if p.fragment {
		code = a.addFragment(s, f, &p, now)
	} else {
		code = addComplete(s, f, &p)
	}
	switch {
	case code != "":
		return nil, a.lose(s, code)
	case f.Payload == nil:
		return nil, nil
	}
	a.drop(s)
	s.done = true
	return f, nil
}

// Expire gives up the frames that have been incomplete for too long.
func (a *Assembler) Expire(now time.Time) (faults []*Fault) {
	if a.assemblies == 0 {
		return nil
	}
	for _, s := range a.subscriptions {
		if s.assembly != nil && s.assembly.overdue(now) {
			faults = append(faults, a.lose(s, faultTimeout))
		}
	}
	return faults
}

// Forget drops what is known of a subscription that has ended or is about to be
// resynced: after a wrong ordinal the right ones would be taken for old.
func (a *Assembler) Forget(topic, subscriptionID string) {
	key := subscriptionKey{topic, subscriptionID}
	if s := a.subscriptions[key]; s != nil {
		a.drop(s)
		delete(a.subscriptions, key)
	}
}

func (a *Assembler) subscription(p *physical) *subscription {
	s := a.subscriptions[subscriptionKey{string(p.topic), string(p.subscriptionID)}]
	if s == nil {
		if a.subscriptions == nil {
			a.subscriptions = map[subscriptionKey]*subscription{}
		}
		s = &subscription{subscriptionKey: subscriptionKey{string(p.topic), string(p.subscriptionID)}}
		a.subscriptions[s.subscriptionKey] = s
	}
	return s
}

// lose ends the newest frame of s: whatever else comes of it is ignored.
func (a *Assembler) lose(s *subscription, code string) *Fault {
	a.drop(s)
	s.done = true
	return &Fault{Code: code, Topic: s.topic, SubscriptionID: s.subscriptionID, Ordinal: s.ordinal}
}

func (a *Assembler) drop(s *subscription) {
	if s.assembly != nil {
		a.assemblies--
		a.staged -= s.assembly.bytes
		s.assembly = nil
	}
}

func addComplete(s *subscription, f *Frame, p *physical) (code string) {
	switch {
	case s.assembly != nil:
		return faultMetadataMismatch // the same frame came in fragments before
	case len(p.frame) > maxLogicalBytes:
		return faultTooLarge
	}
	return f.readLogical(p.frame)
}

// addFragment fills f when the last fragment is there.
func (a *Assembler) addFragment(s *subscription, f *Frame, p *physical, now time.Time) (code string) {
	if s.assembly == nil {
		if a.assemblies >= maxAssemblies {
			return faultConcurrentLimit
		}
		a.assemblies++
		s.assembly = &assembly{
			began: now, deliveryKind: p.deliveryKind, logicalBytes: p.logicalBytes, checksum: p.checksum,
			pieces: make([][]byte, p.count), missing: p.count,
		}
	}
	as := s.assembly
	switch {
	case as.overdue(now):
		return faultTimeout
	case as.deliveryKind != p.deliveryKind, as.logicalBytes != p.logicalBytes, as.checksum != p.checksum, len(as.pieces) != p.count:
		return faultMetadataMismatch
	}
	before := as.bytes
	code = as.add(p, maxStagedBytes-a.staged)
	a.staged += as.bytes - before
	if code != "" || as.missing > 0 {
		return code
	}
	logical, code := as.join()
	if code != "" {
		return code
	}
	return f.readLogical(logical)
}

func (as *assembly) overdue(now time.Time) bool { return now.Sub(as.began) > maxAssemblyTime }

// add stages one fragment of at most room bytes.
func (as *assembly) add(p *physical, room int) (code string) {
	// A generous bound of the decoded size, so that nothing is allocated for
	// what is refused anyway. (Security)
	if most := base64.StdEncoding.DecodedLen(len(p.data)); most-2 > as.logicalBytes {
		return faultLengthMismatch
	} else if most > room {
		return faultBudgetExceeded
	}
	piece, err := base64.StdEncoding.Strict().AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(p.data))), p.data)
	if err != nil || bytes.ContainsAny(p.data, "\r\n") { // which the decoder would pass over
		return faultInvalidBase64
	}
	if have := as.pieces[p.index]; have != nil {
		if !bytes.Equal(have, piece) {
			return faultFragmentConflict
		}
		return ""
	}
	if len(piece) == 0 || as.bytes+len(piece) > as.logicalBytes {
		return faultLengthMismatch
	}
	as.pieces[p.index] = piece
	as.bytes += len(piece)
	as.missing--
	return ""
}

// join makes the logical frame of all fragments and checks it.
func (as *assembly) join() (logical []byte, code string) {
	if as.bytes != as.logicalBytes {
		return nil, faultLengthMismatch
	}
	logical = slices.Concat(as.pieces...)
	switch {
	case crc32.ChecksumIEEE(logical) != as.checksum:
		return nil, faultChecksumMismatch
	case !utf8.Valid(logical):
		return nil, faultInvalidUTF8
	case !wire.Valid(logical):
		return nil, faultInvalidJSON
	}
	return bytes.TrimSpace(logical), ""
}
