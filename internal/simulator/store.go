package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// store keeps the rows of sessions that may leave memory, and writes them to the state file if there is one.
// The maps are guarded by the loop.
type store struct {
	path string // "" keeps everything in memory
	rows map[string]storedRow
	rule map[string][]rule
	made uint64 // state files composed so far

	file    sync.Mutex // held while the file is written; taken without the loop
	written uint64     // the newest composition that is on disk; guarded by file
}

// storedRow is a session in the store. Its messages are shared with the session in memory, if there is one.
type storedRow struct {
	record
	text raw // as it stands in the state file; nil without one
}

// stateFile is the form of the file. Sessions keep the order of their creation.
type stateFile struct {
	Version  int               `json:"version"`
	Sessions []raw             `json:"sessions"`
	Rules    map[string][]rule `json:"rules,omitempty"`
}

const stateVersion = 1

func openStore(path string) (*store, error) {
	st := &store{path: path, rows: map[string]storedRow{}, rule: map[string][]rule{}}
	if path == "" {
		return st, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state file: %w", err)
	}
	var file stateFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("state file %s is not readable: %w", path, err)
	}
	if file.Version != stateVersion {
		return nil, fmt.Errorf("state file %s has version %d, this build reads %d", path, file.Version, stateVersion)
	}
	for _, text := range file.Sessions {
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("state file %s holds a bad session: %w", path, err)
		}
		st.put(r)
	}
	if file.Rules != nil {
		st.rule = file.Rules
	}
	return st, nil
}

// put replaces a session's row.
func (st *store) put(r record) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			p.settle()
		}
	}
	kept := storedRow{record: r}
	if st.path != "" {
		kept.text = encode(r)
	}
	st.rows[r.ID] = kept
}

func (st *store) get(id string) (record, bool) {
	kept, ok := st.rows[id]
	return kept.record, ok
}

// list gives the rows, the most recently used first.
func (st *store) list() []record {
	list := make([]record, 0, len(st.rows))
	for _, id := range sortedKeys(st.rows) {
		list = append(list, st.rows[id].record)
	}
	slices.SortStableFunc(list, func(a, b record) int {
		switch {
		case a.UpdatedAt > b.UpdatedAt:
			return -1
		case a.UpdatedAt < b.UpdatedAt:
			return 1
		}
		return 0
	})
	return list
}

func (st *store) rules(key string) []rule { return slices.Clone(st.rule[key]) }

// persist writes the state file as things stand. The loop is given up meanwhile; of two writers the later one wins.
func (s *server) persist() {
	st := s.store
	if st.path == "" {
		return
	}
	for key, w := range s.workspaces {
		if len(w.rules) > 0 {
			st.rule[key] = w.rules
		}
	}
	file := stateFile{Version: stateVersion, Rules: st.rule, Sessions: []raw{}}
	for _, id := range sortedKeys(st.rows) {
		file.Sessions = append(file.Sessions, st.rows[id].text)
	}
	text := encode(file)
	st.made++
	version := st.made
	var err error
	s.yield(func() { err = st.writeFile(text, version) })
	if err != nil {
		s.stop(&ExitError{Code: 1, Reason: err.Error()})
	}
}

// writeFile replaces the file in one step, so that a killed process leaves the old or the new one, never half of it.
func (st *store) writeFile(text []byte, version uint64) error {
	st.file.Lock()
	defer st.file.Unlock()
	if version <= st.written {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(st.path), filepath.Base(st.path)+".*")
	if err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	defer os.Remove(f.Name()) // fails once the file has its final name
	_, err = f.Write(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), st.path)
	}
	if err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	st.written = version
	return nil
}
