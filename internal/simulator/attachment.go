package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// Limits of attachments, as the protocol states them.
const (
	maxAttachment = 20 << 20
	maxChunk      = 512 << 10
	maxChunks     = 64
	maxUploads    = 16
	maxStaged     = 64 << 20
	uploadTTL     = 5 * time.Minute
	unusedTTL     = 24 * time.Hour // of a committed file that no input refers to
	maxUploadID   = 128
)

// upload is an attachment on its way in, or one that has arrived. Guarded by the loop.
type upload struct {
	connection, session string
	name, mime          string
	size, chunks        int
	checksum            string
	data                []byte
	next                int    // index of the chunk that comes next
	ref                 string // once it is committed
	touchedAt           time.Time
}

var (
	beginUploadShape = strict(req("connectionId", shortID), req("uploadId", boundedString(maxUploadID)), req("sessionId", shortID),
		req("fileName", nonEmpty), req("mime", nonEmpty), req("totalBytes", integer(1, maxAttachment)),
		req("totalChunks", integer(1, maxChunks)), req("checksum", prefixed("sha256:")))
	chunkShape = strict(req("connectionId", shortID), req("uploadId", boundedString(maxUploadID)), req("sessionId", shortID),
		req("chunkIndex", integer(0, maxChunks-1)), req("dataBase64", nonEmpty))
	uploadShape     = strict(req("connectionId", shortID), req("uploadId", boundedString(maxUploadID)), req("sessionId", shortID))
	readUploadShape = strict(req("sessionId", shortID), req("ref", nonEmpty), opt("target", targetShape),
		opt("attachmentIndex", sequence), req("offset", sequence), req("limit", integer(1, maxChunk)))
)

type uploadParams struct {
	Connection string `json:"connectionId"`
	Upload     string `json:"uploadId"`
	Session    string `json:"sessionId"`
	Name       string `json:"fileName"`
	Mime       string `json:"mime"`
	Bytes      int    `json:"totalBytes"`
	Chunks     int    `json:"totalChunks"`
	Checksum   string `json:"checksum"`
	Index      int    `json:"chunkIndex"`
	Data       string `json:"dataBase64"`
	Ref        string `json:"ref"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
}

func (p uploadParams) key() string { return p.Connection + "\x00" + p.Session + "\x00" + p.Upload }

func attachmentFault(name string) *fault { return thrown("Error", "fault.attachment."+name) }

// beginUpload opens an upload, or says how far one has come that was opened before.
func (s *server) beginUpload(r *request, p uploadParams) (any, *fault) {
	s.expireUploads()
	if u, ok := s.uploads[p.key()]; ok {
		if u.checksum != p.Checksum || u.size != p.Bytes || u.chunks != p.Chunks {
			return nil, attachmentFault("uploadConflict")
		}
		return u.state(p.Upload), nil
	}
	if p.Chunks*maxChunk < p.Bytes {
		return nil, attachmentFault("chunkCountInsufficient")
	}
	open, staged := 0, p.Bytes
	for _, u := range s.uploads {
		if u.ref == "" {
			staged += u.size
			if u.connection == p.Connection {
				open++
			}
		}
	}
	if open >= maxUploads {
		return nil, attachmentFault("tooManyUploads")
	}
	if staged > maxStaged {
		return nil, attachmentFault("stagingBudgetExceeded")
	}
	u := &upload{connection: p.Connection, session: p.Session, name: p.Name, mime: p.Mime, size: p.Bytes, chunks: p.Chunks,
		checksum: p.Checksum, touchedAt: time.Now()}
	s.uploads[p.key()] = u
	return u.state(p.Upload), nil
}

func (u *upload) state(id string) object {
	o := object{"uploadId": id, "state": "staging", "nextChunkIndex": u.next}
	if u.ref != "" {
		o["state"], o["ref"] = "committed", u.ref
	}
	return o
}

// takeChunk takes the next piece; a piece that is there already counts as taken.
func (s *server) takeChunk(r *request, p uploadParams) (any, *fault) {
	s.expireUploads()
	u, ok := s.uploads[p.key()]
	if !ok || u.ref != "" {
		return nil, attachmentFault("uploadNotFound")
	}
	u.touchedAt = time.Now()
	if p.Index < u.next {
		return object{"uploadId": p.Upload, "nextChunkIndex": u.next}, nil
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	switch {
	case err != nil:
		return nil, attachmentFault("invalidBase64")
	case p.Index > u.next:
		return nil, attachmentFault("chunkOutOfOrder")
	case len(data) > maxChunk || len(u.data)+len(data) > u.size || u.next >= u.chunks:
		return nil, attachmentFault("chunkTooLarge")
	}
	u.data, u.next = append(u.data, data...), u.next+1
	return object{"uploadId": p.Upload, "nextChunkIndex": u.next}, nil
}

func (s *server) commitUpload(r *request, p uploadParams) (any, *fault) {
	s.expireUploads()
	u, ok := s.uploads[p.key()]
	if !ok {
		return nil, attachmentFault("uploadNotFound")
	}
	if u.ref == "" {
		if len(u.data) != u.size {
			return nil, attachmentFault("uploadIncomplete")
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(u.data)); !strings.EqualFold(sum, u.checksum) {
			return nil, attachmentFault("checksumMismatch")
		}
		u.ref = "zcode-artifact://" + u.session + "/tool-result-" + s.ids.uuid()
	}
	return object{"ref": u.ref}, nil
}

func (s *server) abortUpload(r *request, p uploadParams) (any, *fault) {
	if u, ok := s.uploads[p.key()]; ok && u.ref == "" {
		delete(s.uploads, p.key())
	}
	return object{}, nil
}

// readUpload gives a piece of a file that a row of the session shows; no other file can be read.
func (s *server) readUpload(r *request, p uploadParams) (any, *fault) {
	x := s.sessions[p.Session]
	if x == nil || !x.shows(p.Ref) {
		return nil, attachmentFault("previewRefNotAuthorized")
	}
	for _, u := range s.uploads {
		if u.ref == p.Ref {
			from := min(p.Offset, len(u.data))
			to := min(from+p.Limit, len(u.data))
			o := object{"dataBase64": base64.StdEncoding.EncodeToString(u.data[from:to]), "mediaType": u.mime, "totalBytes": len(u.data), "nextOffset": nil}
			if to < len(u.data) {
				o["nextOffset"] = to
			}
			return o, nil
		}
	}
	return nil, attachmentFault("previewRefNotAuthorized")
}

// shows reports whether a row has the file attached.
func (x *session) shows(ref string) bool {
	for _, m := range x.Messages {
		for _, a := range m.Uploads {
			if a["ref"] == ref {
				return true
			}
		}
	}
	return false
}

// notShared answers what only builds with sharing can do.
func notShared(name string) handler {
	return v4Method(loose(), func(*server, *request, object) (any, *fault) {
		return nil, thrown("ZCodeAttachmentFaultError", "fault.attachment."+name)
	})
}

// expireUploads forgets uploads that nobody goes on with.
func (s *server) expireUploads() {
	for key, u := range s.uploads {
		age := time.Since(u.touchedAt)
		unused := u.ref != "" && age > unusedTTL && (s.sessions[u.session] == nil || !s.sessions[u.session].shows(u.ref))
		if unused || u.ref == "" && age > uploadTTL {
			delete(s.uploads, key)
		}
	}
}

// dropUploads forgets what a connection has not committed.
func (s *server) dropUploads(connectionID string) {
	for key, u := range s.uploads {
		if u.ref == "" && u.connection == connectionID {
			delete(s.uploads, key)
		}
	}
}
