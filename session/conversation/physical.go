package conversation

import (
	"strconv"

	"zcodehub/internal/wire"
)

// physical is one message read: a whole frame or one fragment of it. Its slices
// are views of the message. Members that are not known are not looked at, so
// that a newer app-server may add some.
type physical struct {
	deliveryKind   string
	frameID        []byte
	ordinal        uint64
	topic          []byte
	subscriptionID []byte

	frame []byte // raw; of a complete one

	fragment     bool
	index, count int
	logicalBytes int
	checksum     uint32
	data         []byte // base64
}

// readPhysical reads params. It says with which fault it failed, or "".
func readPhysical(params []byte) (p physical, code string) {
	var version, kind, delivery, index, count, logical, checksum []byte
	for m, err := range wire.Members(params) {
		if err != nil {
			return p, faultInvalidJSON
		}
		switch string(m.Key) {
		case "wireVersion":
			version = m.Value
		case "kind":
			kind = m.Value
		case "deliveryKind":
			delivery = m.Value
		case "logicalFrameId":
			p.frameID, _ = text(m.Value)
		case "logicalFrameOrdinal":
			p.ordinal, _ = number(m.Value)
		case "topic":
			p.topic, _ = text(m.Value)
		case "subscriptionId":
			p.subscriptionID, _ = text(m.Value)
		case "frame":
			p.frame = m.Value
		case "fragmentIndex":
			index = m.Value
		case "fragmentCount":
			count = m.Value
		case "logicalBytes":
			logical = m.Value
		case "checksum":
			checksum = m.Value
		case "dataBase64":
			p.data, _ = text(m.Value)
		}
	}
	p.deliveryKind = deliveryKind(delivery)
	p.fragment = string(kind) == `"fragment"`
	switch {
	case string(version) != wireVersion,
		!p.fragment && string(kind) != `"complete"`,
		p.deliveryKind == "", p.ordinal == 0, len(p.topic) == 0,
		len(p.frameID) == 0, len(p.frameID) > maxIDBytes,
		len(p.subscriptionID) == 0, len(p.subscriptionID) > maxIDBytes,
		!p.fragment && p.frame == nil:
		return p, faultInvalidPayload
	case p.fragment:
		return p, p.readFragment(index, count, logical, checksum)
	}
	return p, ""
}

// deliveryKind gives the constant for a raw string, so that none is allocated.
func deliveryKind(raw []byte) string {
	switch string(raw) {
	case `"` + Initial + `"`:
		return Initial
	case `"` + Online + `"`:
		return Online
	case `"` + Recovery + `"`:
		return Recovery
	}
	return ""
}

func (p *physical) readFragment(index, count, logical, checksum []byte) (code string) {
	i, okIndex := number(index)
	n, okCount := number(count)
	size, okSize := number(logical)
	var okSum bool
	p.checksum, okSum = readChecksum(checksum)
	switch {
	case !okIndex, !okCount, !okSize, !okSum, p.data == nil, i >= n, size == 0:
		return faultInvalidPayload
	case n > maxFragments, size > maxLogicalBytes:
		return faultTooLarge
	}
	p.index, p.count, p.logicalBytes = int(i), int(n), int(size)
	return ""
}

// readChecksum reads {"algorithm":"crc32","value":"<8 lower hex>"}.
func readChecksum(raw []byte) (uint32, bool) {
	if !isObject(raw) {
		return 0, false
	}
	algorithm, _ := wire.Get(raw, "algorithm")
	value, _ := wire.Get(raw, "value")
	digits, _ := text(value)
	if string(algorithm) != `"crc32"` || len(digits) != 8 {
		return 0, false
	}
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			return 0, false
		}
	}
	sum, err := strconv.ParseUint(string(digits), 16, 32)
	return uint32(sum), err == nil
}
