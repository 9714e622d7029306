package main

import (
	"bytes"
	"image"
	"image/color"
	"strings"
	"testing"

	qr "github.com/piglig/go-qr"
)

// picture turns what printQR drew back into pixels, as the camera of a phone would see it.
func picture(t *testing.T, drawn string) image.Image {
	t.Helper()
	const module = 8 // pixels: enough for the reader to find the pattern
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	width := len([]rune(lines[0]))
	img := image.NewGray(image.Rect(0, 0, width*module, len(lines)*2*module))
	for y, line := range lines {
		for x, r := range []rune(line) {
			for half, dark := range []bool{r == '█' || r == '▀', r == '█' || r == '▄'} {
				shade := color.Gray{Y: 255}
				if dark {
					shade.Y = 0
				}
				for i := range module * module {
					img.SetGray(x*module+i%module, (2*y+half)*module+i/module, shade)
				}
			}
		}
	}
	return img
}

func TestPrintedQRCodeReadsBackAsTheLink(t *testing.T) {
	link := "http://127.0.0.1:8377/#token=" + strings.Repeat("eyJhbGciOiJFZERTQSJ9.", 20)
	var drawn bytes.Buffer
	if err := printQR(&drawn, link); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(drawn.String(), "\x1b") {
		t.Error("colours although this is no terminal")
	}
	got, err := qr.Decode(picture(t, drawn.String()))
	if err != nil || got != link {
		t.Errorf("decoded %q, %v; want %q", got, err, link)
	}
}

func TestTextTooLongForAQRCodeIsAnError(t *testing.T) {
	if err := printQR(&bytes.Buffer{}, strings.Repeat("x", 3000)); err == nil {
		t.Error("no error")
	}
}
