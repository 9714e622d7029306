package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "zcodehub"

// mayImport says which packages of this module each package may use: imports point one way, from cmd/hub down to the
// leaves, so that each can be read and tested without what stands above it. "..." is everything.
var mayImport = map[string][]string{
	"cmd/hub": {"web", "hub", "push", "session", "auth", "internal/simulator", "internal/wire"},
	"web":     {"web/acp", "hub", "push", "auth", "internal/wire"},
	"web/acp": {"hub", "auth", "fanout", "internal/wire"},
	"hub":     {"session", "session/conversation", "fanout", "auth", "internal/child", "internal/wire"},
	"session": {"session/conversation", "fanout", "auth", "internal/wire"},

	"session/conversation": {"fanout", "internal/wire"},

	"push":          {"auth"},
	"auth":          {},
	"fanout":        {},
	"internal/wire": {},

	"internal/child":     {"internal/wire"},
	"internal/simulator": {"internal/wire"},

	// Code for tests and measurements: may use all, is used by no product code.
	"internal/hubtest": {"..."},
	"internal/bench":   {"..."},
	"e2e":              {"..."},
}

// mayUse lists the modules from outside for packages that are to stay small.
var mayUse = map[string][]string{
	"auth": {
		"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/keyfunc/v3", "github.com/MicahParks/jwkset",
		"go.etcd.io/bbolt", "golang.org/x/sync", "golang.org/x/time",
	},
	"push": {"github.com/SherClockHolmes/webpush-go", "github.com/prometheus/client_golang", "go.etcd.io/bbolt"},

	"fanout":        {},
	"session":       {},
	"internal/wire": {},

	"session/conversation": {},

	"internal/child":     {"golang.org/x/sys", "golang.org/x/time"},
	"internal/simulator": {},
}

// productImports lists, for each package of the module, what its files import, tests left out.
func productImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(dir)
		imports[pkg] = append(imports[pkg], "") // the package exists even if it imports nothing
		for _, spec := range file.Imports {
			used, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[pkg] = append(imports[pkg], used)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func TestImportsPointOneWay(t *testing.T) {
	all := productImports(t, filepath.Join("..", ".."))
	if len(all["cmd/hub"]) == 0 {
		t.Fatal("the test does not see cmd/hub: it looks in the wrong place")
	}
	for pkg, imports := range all {
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("package %s is new: say in mayImport what it may use", pkg)
			continue
		}
		for _, used := range imports {
			if inside, ok := strings.CutPrefix(used, module+"/"); ok {
				if !slices.Contains(allowed, inside) && !slices.Contains(allowed, "...") {
					t.Errorf("%s imports %s: that arrow is not in mayImport", pkg, inside)
				}
				continue
			}
			outside, limited := mayUse[pkg]
			standard := !strings.Contains(strings.Split(used, "/")[0], ".")
			inModule := func(module string) bool { return used == module || strings.HasPrefix(used, module+"/") }
			if limited && !standard && !slices.ContainsFunc(outside, inModule) {
				t.Errorf("%s imports %s: it is to stay small, see mayUse", pkg, used)
			}
		}
	}
}
