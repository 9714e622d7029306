package conversation

import (
	"bytes"

	"zcodehub/internal/wire"
)

// A document is a JSON object kept as its top-level members, in order. Nothing
// below them is looked at.
type document []member

type member struct {
	key   string
	value []byte // raw; never written to
}

// readDocument copies a raw object.
func readDocument(obj []byte) (d document) {
	for m := range wire.Members(obj) {
		d.set(string(m.Key), bytes.Clone(m.Value))
	}
	return d
}

func (d document) get(key string) []byte {
	for i := range d {
		if d[i].key == key {
			return d[i].value
		}
	}
	return nil
}

// set replaces a member in its place or adds it at the end.
func (d *document) set(key string, value []byte) {
	for i := range *d {
		if (*d)[i].key == key {
			(*d)[i].value = value
			return
		}
	}
	*d = append(*d, member{key, value})
}

// setAll sets the members of a raw object; their values are views of it.
func (d *document) setAll(obj []byte) {
	for m := range wire.Members(obj) {
		d.set(string(m.Key), m.Value)
	}
}

func (d document) size() (n int) {
	for i := range d {
		n += 6*len(d[i].key) + len(d[i].value) + 4
	}
	return n + 2
}

// append appends the object; the value of the member key, if there is one, is
// the one given.
func (d document) append(dst []byte, key string, value []byte) []byte {
	dst = append(dst, '{')
	for i := range d {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, d[i].key)
		dst = append(dst, ':')
		if d[i].key == key {
			dst = append(dst, value...)
		} else {
			dst = append(dst, d[i].value...)
		}
	}
	return append(dst, '}')
}
