package hub_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"zcodehub/auth"
	"zcodehub/internal/hubtest"
)

// An upload belongs to the connection that makes it; what came of it is read by
// whoever sees the session.
func TestUploadedFileIsReadByOthers(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.NewSimulator(t, hubtest.SimulatorOptions{}))
	sender := h.Connect("sender", hubtest.As{})
	id := sender.Create("/work")
	content := []byte("what is in the file")
	sender.MustCall("v4/attachment/begin", fmt.Sprintf(`{"uploadId":"u","sessionId":%q,"fileName":"a.txt","mime":"text/plain","totalBytes":%d,"totalChunks":1,"checksum":"sha256:%x"}`,
		id, len(content), sha256.Sum256(content)))
	sender.MustCall("v4/attachment/chunk", fmt.Sprintf(`{"uploadId":"u","sessionId":%q,"chunkIndex":0,"dataBase64":%q}`, id, base64.StdEncoding.EncodeToString(content)))
	var committed struct{ Ref string }
	if err := json.Unmarshal(sender.MustCall("v4/attachment/commit", fmt.Sprintf(`{"uploadId":"u","sessionId":%q}`, id)), &committed); err != nil {
		t.Fatal(err)
	}
	sender.Subscribe(id, "")
	n := sender.Received()
	sender.MustCall("v4/command", fmt.Sprintf(`{"commandId":"c1","sessionId":%q,"type":"sendText","issuedAt":1,"payload":{"text":"help","attachments":[{"ref":%q,"fileName":"a.txt","mime":"text/plain","bytes":%d}]}}`,
		id, committed.Ref, len(content)))
	sender.WantTurnEnd(n, id)
	reader := h.Connect("reader", hubtest.As{Role: auth.RoleViewer})
	var read struct{ DataBase64 []byte }
	answer := reader.MustCall("v4/attachment/read", fmt.Sprintf(`{"sessionId":%q,"ref":%q,"offset":0,"limit":1000}`, id, committed.Ref))
	if err := json.Unmarshal(answer, &read); err != nil || string(read.DataBase64) != string(content) {
		t.Errorf("read %q, %v: %s", read.DataBase64, err, answer)
	}
}
