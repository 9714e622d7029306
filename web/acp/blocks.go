package acp

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"
)

// The bounds of one prompt, which are those that ACP clients of the app-server know. All blocks have to pass through one
// message of 32 MiB in any case.
const (
	maxBlocks     = 100
	maxImageBytes = 10 << 20 // of one image, decoded
	maxFilesBytes = 50 << 20 // of all images and files, decoded
)

// A sentAttachment is a file as session/send takes it (protocol document 2.2).
type sentAttachment struct {
	Kind       string `json:"kind"` // image, pdf, file, audio, video
	Filename   string `json:"filename"`
	DataBase64 string `json:"dataBase64"`
	MimeType   string `json:"mimeType"`
	SizeBytes  int    `json:"sizeBytes"`
}

// promptInput is a prompt as the app-server takes it, and as other clients are shown it.
type promptInput struct {
	text  string
	files []sentAttachment
	shown []json.RawMessage // the blocks as they came
}

// readBlocks reads the prompt member of session/prompt.
func readBlocks(raw json.RawMessage) (in promptInput, fault *Error) {
	if json.Unmarshal(raw, &in.shown) != nil {
		return in, badParams("prompt must be an array of content blocks")
	}
	if len(in.shown) == 0 {
		return in, badParams("the prompt is empty")
	}
	if len(in.shown) > maxBlocks {
		return in, badParams("a prompt has at most %d blocks", maxBlocks)
	}
	var texts []string
	total := 0
	for _, block := range in.shown {
		text, file, fault := readBlock(block)
		if fault != nil {
			return in, fault
		}
		if text != "" {
			texts = append(texts, text)
		}
		if file != nil {
			in.files = append(in.files, *file)
			total += file.SizeBytes
		}
	}
	if total > maxFilesBytes {
		return in, badParams("the images and files of a prompt together have at most %d MiB", maxFilesBytes>>20)
	}
	in.text = strings.Join(texts, "\n\n")
	if strings.TrimSpace(in.text) == "" && len(in.files) == 0 {
		return in, badParams("the prompt is empty")
	}
	return in, nil
}

// readBlock reads one block: text for the model, or a file, or neither where nothing is in it.
func readBlock(raw json.RawMessage) (text string, file *sentAttachment, fault *Error) {
	var b struct {
		Type, Text, Data, MimeType, URI, Name string
		Resource                              struct{ URI, Text, Blob, MimeType string }
	}
	if json.Unmarshal(raw, &b) != nil {
		return "", nil, badParams("a content block that cannot be read")
	}
	switch b.Type {
	case "text":
		return b.Text, nil, nil
	case "image":
		file, fault = readFile("image", b.Data, b.MimeType, b.URI)
		if fault == nil && file.SizeBytes > maxImageBytes {
			return "", nil, badParams("an image has at most %d MiB", maxImageBytes>>20)
		}
		return "", file, fault
	case "resource_link":
		if b.URI == "" {
			return "", nil, badParams("a resource_link needs a uri")
		}
		return link(b.Name, b.URI), nil, nil
	case "resource":
		r := b.Resource
		if r.Blob != "" {
			file, fault = readFile("", r.Blob, r.MimeType, r.URI)
			return "", file, fault
		}
		return "<resource uri=" + string(jsonOf(r.URI)) + ">\n" + r.Text + "\n</resource>", nil, nil
	}
	return "", nil, badParams("content blocks of type %.40q are not taken: send text, images, resource links or embedded resources", b.Type)
}

// link shows the model where something is. Files of this machine are named by their path.
func link(name, uri string) string {
	if file, local := strings.CutPrefix(uri, "file://"); local {
		return "@" + file
	}
	if name == "" {
		return uri
	}
	return "[" + name + "](" + uri + ")"
}

func readFile(kind, data, mimeType, uri string) (*sentAttachment, *Error) {
	size := base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(0, len(data)-2):], "=")
	if data == "" || !isBase64(data) {
		return nil, badParams("the data of an image or a file must be base64")
	}
	if mimeType == "" {
		return nil, badParams("an image or a file needs a mimeType")
	}
	main, sub, _ := strings.Cut(mimeType, "/")
	switch {
	case kind != "":
	case main == "image" || main == "audio" || main == "video":
		kind = main
	case mimeType == "application/pdf":
		kind = "pdf"
	default:
		kind = "file"
	}
	name := path.Base(uri)
	if uri == "" || name == "." || name == "/" {
		name = kind + "." + strings.TrimSuffix(sub, "+xml")
	}
	return &sentAttachment{kind, name, data, mimeType, size}, nil
}

// isBase64 checks what would else be found out by the model's provider, without decoding megabytes.
func isBase64(data string) bool {
	body := strings.TrimRight(data, "=")
	if len(data)%4 != 0 || len(data)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		c := body[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}
