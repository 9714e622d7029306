package simulator

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

const (
	// maxPhysical is the largest physical frame in the worst of its three forms (protocol: 1 MiB). The worst is the
	// base64 envelope of the phone relay, a third larger than the line.
	maxPhysical = 1 << 20
	// relayOverhead is what that envelope adds besides: names and ids.
	relayOverhead = 1 << 10
	// fragmentBytes is the slice of a logical frame that one fragment carries: in base64 twice, once in the fragment and
	// once in the relay's envelope, it stays under maxPhysical.
	fragmentBytes = 512 << 10
	maxFragments  = 1024
	// maxLogical is the largest logical frame (protocol: 16 MiB); a subscription's buffer stays below it by terminalReserve.
	maxLogical      = 16 << 20
	terminalReserve = 64 << 10

	wireVersion = 3
)

// logicalFrame is what a subscriber gets to apply: the interval (From, To] of the topic.
type logicalFrame struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscriptionId"`
	From         uint64 `json:"fromSeq"`
	To           uint64 `json:"toSeq"`
	SentAt       int64  `json:"sentAt"`
	Payload      object `json:"payload"`
}

// frameHead is what all physical frames of a logical one share.
type frameHead struct {
	WireVersion  int    `json:"wireVersion"`
	Kind         string `json:"kind"`
	DeliveryKind string `json:"deliveryKind"`
	FrameID      string `json:"logicalFrameId"`
	Ordinal      int    `json:"logicalFrameOrdinal"`
	Topic        string `json:"topic"`
	Subscription string `json:"subscriptionId"`
}

type completeFrame struct {
	frameHead
	Frame raw `json:"frame"`
}

type fragmentFrame struct {
	frameHead
	Index    int      `json:"fragmentIndex"`
	Count    int      `json:"fragmentCount"`
	Bytes    int      `json:"logicalBytes"`
	Checksum checksum `json:"checksum"`
	Data     string   `json:"dataBase64"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
}

// physical cuts a logical frame, already encoded, into params of v4/conversation/frame; nil if it is too large for any
// cut.
func physical(head frameHead, frame json.RawMessage) []any {
	head.WireVersion, head.Kind = wireVersion, "complete"
	whole := completeFrame{head, frame}
	if base64.StdEncoding.EncodedLen(len(frame)+relayOverhead) <= maxPhysical {
		return []any{whole}
	}
	count := (len(frame) + fragmentBytes - 1) / fragmentBytes
	if len(frame) > maxLogical || count > maxFragments {
		return nil
	}
	head.Kind = "fragment"
	sum := checksum{"crc32", fmt.Sprintf("%08x", crc32.ChecksumIEEE(frame))}
	list := make([]any, 0, count)
	for i := range count {
		piece := frame[i*fragmentBytes : min((i+1)*fragmentBytes, len(frame))]
		list = append(list, fragmentFrame{head, i, count, len(frame), sum, base64.StdEncoding.EncodeToString(piece)})
	}
	return list
}
