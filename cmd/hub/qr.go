package main

import (
	"fmt"
	"io"

	qr "github.com/piglig/go-qr"
)

// quietZone is the light margin, in modules, that scanners need around a code (ISO/IEC 18004 asks for 4; 2 is enough
// on a screen and saves four columns).
const quietZone = 2

// printQR draws text as a QR code out of half blocks, two modules to a character. On a terminal colours are set, not
// assumed, so that the code is dark on light in every one; elsewhere there are no colours, and files are dark on light.
func printQR(w io.Writer, text string) error {
	code, err := qr.EncodeText(text, qr.Low)
	if err != nil {
		return fmt.Errorf("QR code: %w", err)
	}
	columns := code.Size() + 2*quietZone
	width, terminal := terminalWidth(w)
	if terminal && width > 0 && width < columns {
		_, err := fmt.Fprintf(w, "(the QR code needs a terminal %d columns wide)\n", columns)
		return err
	}
	before, after := "", "\n"
	if terminal {
		before, after = "\x1b[30;107m", "\x1b[0m\n" // black on white
	}
	line := make([]byte, 0, 4*columns)
	for y := -quietZone; y < code.Size()+quietZone; y += 2 {
		line = append(line[:0], before...)
		for x := -quietZone; x < code.Size()+quietZone; x++ {
			line = append(line, halfBlock(code.Module(x, y), code.Module(x, y+1))...)
		}
		line = append(line, after...)
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func halfBlock(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
