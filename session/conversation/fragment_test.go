package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"zcodehub/internal/wire"
)

func TestMessagesKeepToTheLimitAndComeBackWhole(t *testing.T) {
	h := Head{SubscriptionID: `s"1`, LogicalFrameID: "s-lf-3", Ordinal: 3, DeliveryKind: Online, Topic: "conversation/é\n"}
	for _, size := range []int{0, 100, 5000, 200_000, 1_100_000} {
		payload := fmt.Appendf(nil, `{"kind":"deltas","deltas":[{"op":"x","t":"%s"}]}`, strings.Repeat("é", size/2))
		for _, limit := range []int{1200, 20_000, 0, 64 << 20} {
			messages, err := Messages(h, 4, 6, 77, payload, limit)
			if limit == 1200 && size == 1_100_000 {
				if !errors.Is(err, ErrFragmentCountExceeded) {
					t.Errorf("%d bytes in messages of %d: %v", size, limit, err)
				}
				continue
			}
			must(t, err)
			if limit == 0 {
				limit = DefaultMaxMessage
			}
			if one := len(payload)+1000 < limit; one != (len(messages) == 1) {
				t.Errorf("%d bytes in messages of %d: %d messages", size, limit, len(messages))
			}
			var a Assembler
			var frame *Frame
			for _, msg := range messages {
				if len(msg) > limit || !wire.Valid(msg) {
					t.Errorf("%d bytes in messages of %d: one of %d bytes, valid: %v", size, limit, len(msg), wire.Valid(msg))
				}
				f, fault := a.Add(params(msg), testNow)
				if fault != nil {
					t.Fatal(fault)
				}
				if f != nil {
					frame = f
				}
			}
			if frame == nil || !bytes.Equal(frame.Payload, payload) || frame.From != 4 || frame.To != 6 || frame.SentAt != 77 || frame.Topic != h.Topic || frame.SubscriptionID != h.SubscriptionID {
				t.Errorf("%d bytes in messages of %d: %.200v", size, limit, frame)
			}
		}
	}
}

func TestWhatCannotBeFragmentedIsSaid(t *testing.T) {
	h := Head{SubscriptionID: "s", LogicalFrameID: "l", Ordinal: 1, DeliveryKind: Online, Topic: testTopic}
	if _, err := Messages(h, 0, 1, 1, make([]byte, 16<<20), 1<<20); !errors.Is(err, ErrEnvelopeTooLarge) {
		t.Errorf("16 MiB and more: %v", err)
	}
	if _, err := Messages(h, 0, 1, 1, make([]byte, 500), 300); !errors.Is(err, ErrEnvelopeTooLarge) {
		t.Errorf("messages of 300 bytes: %v", err)
	}
}

// The example of the protocol document, section 8.11.
func TestFragmentsAreThoseOfTheAppServer(t *testing.T) {
	logical := `{"topic":"conversation/sess_11111111-1111-4111-8111-111111111111","subscriptionId":"sub-musegv3e-mrqoweve-1","sentAt":1791032434000,"fromSeq":17,"toSeq":18,"payload":{"kind":"deltas","deltas":[{"op":"row.delta","rowId":4,"path":"text","append":"héllo"}]}}`
	h := Head{SubscriptionID: "sub-musegv3e-mrqoweve-1", LogicalFrameID: "sub-musegv3e-mrqoweve-1-lf-10", Ordinal: 10, DeliveryKind: Online, Topic: "conversation/sess_11111111-1111-4111-8111-111111111111"}
	messages, err := fragments(h, []byte(logical), 620)
	must(t, err)
	start := `{"method":"v4/conversation/frame","params":{"wireVersion":3,"kind":"fragment","deliveryKind":"online","logicalFrameId":"sub-musegv3e-mrqoweve-1-lf-10","logicalFrameOrdinal":10,"topic":"conversation/sess_11111111-1111-4111-8111-111111111111","subscriptionId":"sub-musegv3e-mrqoweve-1","fragmentIndex":0,"fragmentCount":`
	if !strings.HasPrefix(string(messages[0]), start) || !strings.Contains(string(messages[0]), `,"logicalBytes":256,"checksum":{"algorithm":"crc32","value":"851591a8"},"dataBase64":"eyJ0b3BpYyI6`) {
		t.Errorf("got %s", messages[0])
	}
}

func TestFrameHasTheFormOfTheAppServer(t *testing.T) {
	h := Head{SubscriptionID: "sub-1", LogicalFrameID: "sub-1-lf-2", Ordinal: 2, DeliveryKind: Online, Topic: testTopic}
	payload := []byte(`{"kind":"deltas","deltas":[]}`)
	msg := AppendFrame(nil, h, 0, 1, 1791032434060, payload)
	want := `{"method":"v4/conversation/frame","params":{"wireVersion":3,"kind":"complete","deliveryKind":"online","logicalFrameId":"sub-1-lf-2","logicalFrameOrdinal":2,"topic":"conversation/sess_1","subscriptionId":"sub-1",` +
		`"frame":{"topic":"conversation/sess_1","subscriptionId":"sub-1","sentAt":1791032434060,"fromSeq":0,"toSeq":1,"payload":{"kind":"deltas","deltas":[]}}}}`
	if string(msg) != want {
		t.Errorf("got\n%s\nwant\n%s", msg, want)
	}
	if got := Payload(msg); !bytes.Equal(got, payload) {
		t.Errorf("Payload: %s", got)
	}
	if got := sentAtOf(msg); got != 1791032434060 {
		t.Errorf("sentAtOf: %d", got)
	}
}

func TestPayloadIsFoundWhateverTheNamesAre(t *testing.T) {
	h := Head{SubscriptionID: `,"payload":`, LogicalFrameID: `x,"payload":{}`, Ordinal: 1, DeliveryKind: Online, Topic: `,"sentAt":1,`}
	msg := AppendFrame(nil, h, 1, 2, 3, []byte(`{"kind":"deltas","deltas":[{"x":{"a":1,"payload":2}}]}`))
	if got := string(Payload(msg)); got != `{"kind":"deltas","deltas":[{"x":{"a":1,"payload":2}}]}` || sentAtOf(msg) != 3 {
		t.Errorf("got %s, sent at %d", got, sentAtOf(msg))
	}
	if got := Payload([]byte(`{"method":"hub/hello","params":{"a":{"b":1}}}`)); got != nil {
		t.Errorf("of another message: %s", got)
	}
}
