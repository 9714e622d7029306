package conversation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"
)

// logical is a logical frame of ordinal n.
func logical(n int, topic, text string) string {
	return fmt.Sprintf(`{"topic":%q,"subscriptionId":"s","sentAt":5,"fromSeq":%d,"toSeq":%d,"payload":{"kind":"deltas","deltas":[{"op":"x","text":%q}]}}`, topic, n-1, n, text)
}

func complete(n int, delivery, frame string) map[string]any {
	return map[string]any{
		"wireVersion": 3, "kind": "complete", "deliveryKind": delivery, "logicalFrameId": fmt.Sprintf("s-lf-%d", n),
		"logicalFrameOrdinal": n, "topic": testTopic, "subscriptionId": "s", "frame": json.RawMessage(frame),
	}
}

// pieces cuts a logical frame in count fragments.
func pieces(n, count int, frame string) (list []map[string]any) {
	size := (len(frame) + count - 1) / count
	for i := range count {
		m := complete(n, Online, `0`)
		delete(m, "frame")
		m["kind"] = "fragment"
		m["fragmentIndex"], m["fragmentCount"], m["logicalBytes"] = i, count, len(frame)
		m["checksum"] = map[string]any{"algorithm": "crc32", "value": fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(frame)))}
		m["dataBase64"] = base64.StdEncoding.EncodeToString([]byte(frame[i*size : min((i+1)*size, len(frame))]))
		list = append(list, m)
	}
	return list
}

func encode(t testing.TB, m map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(m)
	must(t, err)
	return b
}

// outcome is what Add said: "-", "frame N" or the fault without its prefix.
func outcome(f *Frame, fault *Fault) string {
	switch {
	case f != nil && fault != nil:
		return "both"
	case f != nil:
		return fmt.Sprintf("frame %d", f.To)
	case fault != nil:
		return strings.TrimPrefix(fault.Code, "proto.frameAssembly")
	}
	return "-"
}

func with(m map[string]any, changes ...any) map[string]any {
	c := map[string]any{}
	for k, v := range m {
		c[k] = v
	}
	for i := 0; i < len(changes); i += 2 {
		if c[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(c, changes[i].(string))
		}
	}
	return c
}

func TestAssemblerFollowsTheRules(t *testing.T) {
	one := complete(1, Initial, logical(1, testTopic, "a"))
	two := complete(2, Online, logical(2, testTopic, "b"))
	cut := pieces(2, 3, logical(2, testTopic, "fragmented"))
	later := pieces(3, 2, logical(3, testTopic, "later"))
	other := pieces(2, 3, logical(2, testTopic, "fragmentEd"))
	bad := func(frame string) []map[string]any { return pieces(2, 1, frame) }
	seq := func(m ...map[string]any) []map[string]any { return m }

	for _, c := range []struct {
		name string
		in   []map[string]any
		want string
	}{
		{"complete", seq(one, two), "frame 1|frame 2"},
		{"an ordinal may be left out", seq(one, complete(9, Online, logical(9, testTopic, ""))), "frame 1|frame 9"},
		{"unknown members are carried by nobody and harm nobody", seq(with(one, "novel", 1)), "frame 1"},
		{"repeated", seq(one, one, two, one, two), "frame 1|-|frame 2|-|-"},
		{"fragments in any order", seq(one, cut[2], cut[0], cut[1]), "frame 1|-|-|frame 2"},
		{"a fragment twice", seq(cut[0], cut[0], cut[1], cut[2], cut[2]), "-|-|-|frame 2|-"},
		{"a fragment after its frame", seq(cut[0], cut[1], cut[2], two), "-|-|frame 2|-"},
		{"another id", seq(one, with(one, "logicalFrameId", "x")), "frame 1|OrdinalConflict"},
		{"another id while fragments are missing", seq(cut[0], with(cut[1], "logicalFrameId", "x"), cut[1], cut[2]), "-|OrdinalConflict|-|-"},
		{"superseded", seq(cut[0], later[0], later[1], cut[1], complete(4, Recovery, logical(4, testTopic, ""))), "-|Superseded|-|-|frame 4"},
		{"superseded by a recovery", seq(cut[0], complete(3, Recovery, logical(3, testTopic, "")), cut[1]), "-|frame 3|-"},
		{"fragments of a recovery supersede", seq(cut[0], with(later[0], "deliveryKind", Recovery), with(later[1], "deliveryKind", Recovery)), "-|-|frame 3"},
		{"complete after fragments of the same", seq(cut[0], two, cut[1]), "-|MetadataMismatch|-"},
		{"another count", seq(cut[0], with(cut[1], "fragmentCount", 4)), "-|MetadataMismatch"},
		{"another length", seq(cut[0], with(cut[1], "logicalBytes", 7)), "-|MetadataMismatch"},
		{"another checksum", seq(cut[0], with(cut[1], "checksum", map[string]any{"algorithm": "crc32", "value": "00000000"})), "-|MetadataMismatch"},
		{"another delivery", seq(cut[0], with(cut[1], "deliveryKind", Recovery)), "-|MetadataMismatch"},
		{"another content", seq(cut[0], cut[2], with(cut[2], "dataBase64", other[2]["dataBase64"])), "-|-|FragmentConflict"},
		{"a wrong byte", seq(cut[0], cut[1], with(cut[2], "dataBase64", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), len(decoded(cut[2])))))), "-|-|ChecksumMismatch"},
		{"too short", seq(cut[0], cut[1], with(cut[2], "dataBase64", "eHh4")), "-|-|LengthMismatch"},
		{"too long", seq(cut[0], cut[1], with(cut[2], "dataBase64", cut[0]["dataBase64"])), "-|-|LengthMismatch"},
		{"empty", seq(with(cut[0], "dataBase64", "")), "LengthMismatch"},
		{"no base64", seq(with(cut[0], "dataBase64", "####")), "InvalidBase64"},
		{"base64 without padding", seq(with(cut[0], "dataBase64", "eHg")), "InvalidBase64"},
		{"base64 with line ends", seq(with(cut[0], "dataBase64", "eHh4\n")), "InvalidBase64"},
		{"no UTF-8", bad("{\"topic\":\"\xff\"}"), "InvalidUtf8"},
		{"no JSON", bad("{"), "InvalidJson"},
		{"no object", bad("[]"), "InvalidPayload"},
		{"another topic inside", bad(logical(2, "conversation/other", "")), "MetadataMismatch"},
		{"another topic inside a complete one", seq(complete(1, Online, logical(1, "conversation/other", ""))), "MetadataMismatch"},
		{"too many fragments", seq(with(cut[0], "fragmentCount", 1025)), "TooLarge"},
		{"too large", seq(with(cut[0], "logicalBytes", 16<<20+1)), "TooLarge"},
		{"index behind the count", seq(with(cut[0], "fragmentIndex", 3)), "InvalidPayload"},
		{"no index", seq(with(cut[0], "fragmentIndex", nil)), "InvalidPayload"},
		{"other checksum", seq(with(cut[0], "checksum", map[string]any{"algorithm": "md5", "value": "00000000"})), "InvalidPayload"},
		{"upper-case checksum", seq(with(cut[0], "checksum", map[string]any{"algorithm": "crc32", "value": "ABCDEF00"})), "InvalidPayload"},
		{"no data", seq(with(cut[0], "dataBase64", nil)), "InvalidPayload"},
		{"other wire version", seq(with(one, "wireVersion", 4)), "InvalidPayload"},
		{"other kind", seq(with(one, "kind", "half")), "InvalidPayload"},
		{"other delivery", seq(with(one, "deliveryKind", "late")), "InvalidPayload"},
		{"ordinal 0", seq(with(one, "logicalFrameOrdinal", 0)), "InvalidPayload"},
		{"no frame", seq(with(one, "frame", nil)), "InvalidPayload"},
		{"long id", seq(with(one, "subscriptionId", strings.Repeat("x", 257))), "InvalidPayload"},
		{"no payload", seq(complete(1, Online, `{"topic":"`+testTopic+`","subscriptionId":"s","sentAt":5,"fromSeq":0,"toSeq":1}`)), "InvalidPayload"},
		{"runs backwards", seq(complete(1, Online, strings.Replace(logical(1, testTopic, ""), `"fromSeq":0`, `"fromSeq":2`, 1))), "InvalidPayload"},
		{"payload of another kind", seq(complete(1, Online, strings.Replace(logical(1, testTopic, ""), `"kind":"deltas"`, `"kind":"novel"`, 1))), "InvalidPayload"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Assembler
			var got []string
			for _, m := range c.in {
				got = append(got, outcome(a.Add(encode(t, m), testNow)))
			}
			if s := strings.Join(got, "|"); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			wantConsistent(t, &a)
		})
	}
}

func decoded(m map[string]any) []byte {
	b, _ := base64.StdEncoding.DecodeString(m["dataBase64"].(string))
	return b
}

// wantConsistent counts again what the assembler counts.
func wantConsistent(t testing.TB, a *Assembler) {
	t.Helper()
	assemblies, staged := 0, 0
	for _, s := range a.subscriptions {
		if s.assembly != nil {
			assemblies++
			for _, p := range s.assembly.pieces {
				staged += len(p)
			}
		}
	}
	if a.assemblies != assemblies || a.staged != staged {
		t.Errorf("counts %d assemblies, %d bytes staged; there are %d, %d", a.assemblies, a.staged, assemblies, staged)
	}
}

func TestAssemblerGivesUpAfterThirtySeconds(t *testing.T) {
	cut := pieces(1, 2, logical(1, testTopic, "x"))
	var a Assembler
	a.Add(encode(t, cut[0]), testNow)
	if faults := a.Expire(testNow.Add(30 * time.Second)); faults != nil {
		t.Errorf("after 30 s: %v", faults)
	}
	if got := outcome(a.Add(encode(t, cut[1]), testNow.Add(31*time.Second))); got != "Timeout" {
		t.Errorf("a late fragment gives %s", got)
	}
	a = Assembler{}
	a.Add(encode(t, cut[0]), testNow)
	faults := a.Expire(testNow.Add(31 * time.Second))
	if len(faults) != 1 || faults[0].Code != faultTimeout || faults[0].Topic != testTopic || faults[0].SubscriptionID != "s" {
		t.Errorf("Expire gives %v", faults)
	}
	if got := outcome(a.Add(encode(t, cut[1]), testNow.Add(31*time.Second))); got != "-" {
		t.Errorf("a fragment after that gives %s", got)
	}
	wantConsistent(t, &a)
}

func TestAssemblerKeepsSubscriptionsApart(t *testing.T) {
	var a Assembler
	mine, other := pieces(2, 2, logical(2, testTopic, "x")), pieces(2, 2, strings.ReplaceAll(logical(2, testTopic, "x"), `"s"`, `"z"`))
	for i := range other {
		other[i]["subscriptionId"] = "z"
	}
	got := []string{}
	for _, m := range []map[string]any{mine[0], other[1], other[0], mine[1]} {
		got = append(got, outcome(a.Add(encode(t, m), testNow)))
	}
	if want := []string{"-", "-", "frame 2", "frame 2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	a.Add(encode(t, with(mine[0], "logicalFrameOrdinal", 3)), testNow)
	a.Forget(testTopic, "s")
	wantConsistent(t, &a)
	if got := outcome(a.Add(encode(t, complete(1, Initial, logical(1, testTopic, ""))), testNow)); got != "frame 1" {
		t.Errorf("after Forget ordinal 1 gives %s", got)
	}
}

func TestAssemblerIsBounded(t *testing.T) {
	var a Assembler
	add := func(subscription string, fragment []byte) string {
		return outcome(a.Add(bytes.Replace(fragment, []byte(`"subscriptionId":"s"`), []byte(`"subscriptionId":"`+subscription+`"`), 1), testNow))
	}
	small := encode(t, pieces(1, 2, logical(1, testTopic, "x"))[0])
	for i := range maxAssemblies {
		if got := add(fmt.Sprint(i), small); got != "-" {
			t.Fatalf("assembly %d: %s", i, got)
		}
	}
	if got := add("one more", small); got != "ConcurrentLimit" {
		t.Errorf("assembly %d: %s", maxAssemblies+1, got)
	}
	for i := range maxAssemblies {
		a.Forget(testTopic, fmt.Sprint(i))
	}
	wantConsistent(t, &a)
	a.staged = maxStagedBytes - 10 // as if others held that
	if got := add("all but 10 bytes are taken", small); got != "BudgetExceeded" {
		t.Errorf("over the budget: %s", got)
	}
	if a.staged -= maxStagedBytes - 10; a.staged != 0 {
		t.Errorf("%d bytes are counted for what was refused", a.staged)
	}
}

func TestFaultSaysWhichSubscriptionToResync(t *testing.T) {
	var a Assembler
	_, fault := a.Add([]byte(`{"topic":"conversation/a","subscriptionId":"s","logicalFrameOrdinal":7}`), testNow)
	want := Fault{Code: faultInvalidPayload, Topic: "conversation/a", SubscriptionID: "s", Ordinal: 7}
	if fault == nil || *fault != want {
		t.Errorf("got %v, want %v", fault, want)
	}
	if got := fault.Error(); got != "proto.frameAssemblyInvalidPayload: frame 7 of s on conversation/a is lost" {
		t.Error(got)
	}
	if _, fault := a.Add([]byte(`{"topic`), testNow); fault == nil || fault.Code != faultInvalidJSON {
		t.Errorf("of half an object: %v", fault)
	}
}
