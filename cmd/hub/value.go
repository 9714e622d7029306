package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a place in config that can be filled from words: exactly one, or any number for a list.
type value interface {
	set(words []string) error
	words() []string
	kind() string // what stands for it in help: a placeholder
	isList() bool // several words, separated by commas in a flag or variable
	quoted() bool // a string in TOML
	isZero() bool // nothing worth printing as a default
}

// scalar is a value of one word.
type scalar[T comparable] struct {
	target *T
	parse  func(string) (T, error)
	format func(T) string
	name   string
	bare   bool // a number or boolean in TOML
}

func (s *scalar[T]) set(words []string) error {
	if len(words) != 1 {
		return errors.New("wants one value, not a list")
	}
	v, err := s.parse(words[0])
	if err == nil {
		*s.target = v
	}
	return err
}

func (s *scalar[T]) words() []string { return []string{s.format(*s.target)} }
func (s *scalar[T]) kind() string    { return s.name }
func (s *scalar[T]) isList() bool    { return false }
func (s *scalar[T]) quoted() bool    { return !s.bare }
func (s *scalar[T]) isZero() bool    { var zero T; return *s.target == zero }

func text(target *string, name string) value {
	return &scalar[string]{
		target: target, name: name,
		parse:  func(s string) (string, error) { return s, nil },
		format: func(s string) string { return s },
	}
}

func choice(target *string, words ...string) value {
	return &scalar[string]{
		target: target, name: strings.Join(words, "|"),
		parse: func(s string) (string, error) {
			if !slices.Contains(words, s) {
				return "", fmt.Errorf("wants one of %s", strings.Join(words, ", "))
			}
			return s, nil
		},
		format: func(s string) string { return s },
	}
}

func boolean(target *bool) value {
	return &scalar[bool]{
		target: target, name: "BOOL", bare: true,
		parse: func(s string) (bool, error) {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return false, errors.New("wants true or false")
			}
			return v, nil
		},
		format: strconv.FormatBool,
	}
}

func duration(target *time.Duration) value {
	return &scalar[time.Duration]{
		target: target, name: "DURATION",
		parse: func(s string) (time.Duration, error) {
			v, err := time.ParseDuration(s)
			if err != nil || v <= 0 {
				return 0, errors.New("wants a duration above zero such as 30s or 5m")
			}
			return v, nil
		},
		format: shortDuration,
	}
}

// shortDuration is 3m instead of the 3m0s that time prints.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func number(target *float64) value {
	return &scalar[float64]{
		target: target, name: "NUMBER", bare: true,
		parse: func(s string) (float64, error) {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return 0, errors.New("wants a number above zero")
			}
			return v, nil
		},
		format: func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) },
	}
}

func integer(target *int64) value {
	return &scalar[int64]{
		target: target, name: "COUNT", bare: true,
		parse: func(s string) (int64, error) {
			v, err := strconv.ParseInt(s, 10, 32)
			if err != nil || v < 1 {
				return 0, errors.New("wants a whole number, 1 or more")
			}
			return v, nil
		},
		format: func(v int64) string { return strconv.FormatInt(v, 10) },
	}
}

// sizeUnits are tried in this order, so that the longer suffix comes before the one it ends with.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"KB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1}, {"", 1},
}

func size(target *int64) value {
	return &scalar[int64]{target: target, name: "SIZE", parse: parseSize, format: formatSize}
}

func parseSize(s string) (int64, error) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 1 || n > math.MaxInt64/unit.bytes {
			break
		}
		return n * unit.bytes, nil
	}
	return 0, errors.New("wants a size such as 32MiB")
}

func formatSize(n int64) string {
	for _, unit := range []int{2, 1, 0} { // GiB, MiB, KiB
		if u := sizeUnits[unit]; n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// words is a value of any number of words.
type words struct {
	target *[]string
	name   string
}

func list(target *[]string, name string) value { return &words{target: target, name: name} }

func (w *words) set(list []string) error {
	var clean []string
	for _, word := range list {
		if word = strings.TrimSpace(word); word != "" {
			clean = append(clean, word)
		}
	}
	*w.target = clean
	return nil
}

func (w *words) words() []string { return *w.target }
func (w *words) kind() string    { return w.name }
func (w *words) isList() bool    { return true }
func (w *words) quoted() bool    { return true }
func (w *words) isZero() bool    { return len(*w.target) == 0 }
