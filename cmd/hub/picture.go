package main

import (
	"fmt"

	qr "github.com/piglig/go-qr"
)

const (
	pictureScale  = 8 // pixels a module: large enough to be scanned from a screen or paper
	pictureMargin = 4 // modules, as ISO/IEC 18004 asks for
)

// writePictures puts the link's QR code into files. They open a door, so only this user may read them.
func writePictures(link string, p pictureFlags) error {
	if p.png == "" && p.svg == "" {
		return nil
	}
	code, err := qr.EncodeText(link, qr.Medium)
	if err != nil {
		return fmt.Errorf("QR code: %w", err)
	}
	config := qr.NewQrCodeImgConfig(pictureScale, pictureMargin)
	for _, picture := range []struct {
		path string
		draw func(*qr.QrCodeImgConfig) ([]byte, error)
	}{{p.png, code.ToPNGBytes}, {p.svg, code.ToSVGBytes}} {
		if picture.path == "" {
			continue
		}
		content, err := picture.draw(config)
		if err == nil {
			err = writeFileAtomic(picture.path, content)
		}
		if err != nil {
			return fmt.Errorf("QR code: %w", err)
		}
	}
	return nil
}
