package wire

import (
	"bytes"
	"iter"
)

// object walks over the members of a JSON object. After next the caller moves
// at past the value before it calls next again.
type object struct {
	text  []byte
	at    int    // start of the value after next said true; after false: the index behind the object, or invalid
	key   []byte // raw token of the current key, quotes included
	begin int    // where that key starts
	first bool
}

// openObject starts at the opening brace at i; depth is the number of arrays
// and objects around it.
func openObject(text []byte, i, depth int) object {
	if i >= len(text) || text[i] != '{' || depth >= maxDepth {
		return object{text: text, at: invalid}
	}
	return object{text: text, at: i + 1, first: true}
}

// next steps to the next member: at is then where its value starts.
func (o *object) next() bool {
	if o.at == invalid {
		return false
	}
	b := o.text
	i := skipSpace(b, o.at)
	o.at = invalid
	if i >= len(b) {
		return false
	}
	if b[i] == '}' {
		o.at = i + 1
		return false
	}
	if o.first {
		o.first = false
	} else {
		if b[i] != ',' {
			return false
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return false
	}
	end := skipString(b, i)
	if end == invalid {
		return false
	}
	o.begin, o.key = i, b[i:end]
	i = skipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return false
	}
	o.at = skipSpace(b, i+1)
	return true
}

// Member is one member of a JSON object.
type Member struct {
	Key        []byte // decoded
	Value      []byte // raw
	Start, End int    // obj[Start:End] is the text `"key":value`
}

// Members yields the top-level members of a JSON object in their order,
// repeated keys included. If obj turns out not to be a JSON object the last
// pair is a zero Member with [ErrNotJSON]; for an obj already known to be valid the
// error may be ignored. The values are views of obj.
func Members(obj []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		o := openObject(obj, skipSpace(obj, 0), 0)
		for o.next() {
			start := o.at
			if o.at = skipValue(obj, start, 1); o.at == invalid {
				break
			}
			m := Member{Key: unquote(o.key), Value: obj[start:o.at], Start: o.begin, End: o.at}
			if !yield(m, nil) {
				return
			}
		}
		if !atEnd(obj, o.at) {
			yield(Member{}, ErrNotJSON)
		}
	}
}

// Get returns the raw value of a top-level member of the JSON object obj. Of
// repeated keys the last one counts, as in JSON.parse.
func Get(obj []byte, key string) (value []byte, ok bool) {
	for m, err := range Members(obj) {
		if err != nil {
			return nil, false
		}
		if string(m.Key) == key {
			value, ok = m.Value, true
		}
	}
	return value, ok
}

// Without returns the JSON object obj less the members that drop names, the
// others the bytes that came; obj itself if it has none of them.
func Without(obj []byte, drop func(key []byte) bool) []byte {
	found := false
	for m, err := range Members(obj) {
		found = found || err == nil && drop(m.Key)
	}
	if !found {
		return obj
	}
	out := append(make([]byte, 0, len(obj)), '{')
	for m, err := range Members(obj) {
		if err != nil || drop(m.Key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, obj[m.Start:m.End]...)
	}
	return append(out, '}')
}

// Path goes down through nested objects, one [Get] a key.
func Path(obj []byte, keys ...string) (value []byte, ok bool) {
	value, ok = obj, true
	for _, key := range keys {
		if value, ok = Get(value, key); !ok {
			return nil, false
		}
	}
	return value, ok
}

// Elements yields the raw elements of a JSON array in their order. It ends
// early where arr is not a JSON array; nothing comes from an arr that is none.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for {
			start := skipSpace(arr, i+1)
			if i = skipValue(arr, start, 1); i == invalid || !yield(arr[start:i]) {
				return
			}
			if i = skipSpace(arr, i); i >= len(arr) || arr[i] != ',' {
				return
			}
		}
	}
}

// HasDuplicateKeys reports whether two top-level members of the JSON object obj
// have the same decoded key. Whoever checks a member of untrusted JSON and
// hands the text on needs it: the next reader may take the other one.
func HasDuplicateKeys(obj []byte) bool {
	// Params have few keys: comparing them is faster than hashing, and free of
	// allocation. Beyond that a map keeps a hostile object from costing n².
	const few = 16
	var keys [few][]byte
	var seen map[string]struct{}
	n := 0
	for m, err := range Members(obj) {
		if err != nil {
			return false
		}
		if n < few {
			for _, k := range keys[:n] {
				if bytes.Equal(k, m.Key) {
					return true
				}
			}
			keys[n] = m.Key
			n++
			continue
		}
		if seen == nil {
			seen = make(map[string]struct{}, 2*few)
			for _, k := range keys {
				seen[string(k)] = struct{}{}
			}
		}
		if _, again := seen[string(m.Key)]; again {
			return true
		}
		seen[string(m.Key)] = struct{}{}
	}
	return false
}
