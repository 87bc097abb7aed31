package tidy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTree holds the repository to its own rules.
func TestTree(t *testing.T) {
	const root = "../.."
	if _, err := os.Stat(root + "/go.mod"); err != nil {
		t.Fatalf("the tree to check is not where this test expects it: %v", err)
	}
	found, err := Check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// TestPlanted shows that each rule can fail: every case plants one file in an
// otherwise clean tree.
func TestPlanted(t *testing.T) {
	const ours = module + "/"
	tests := []struct {
		name   string
		path   string
		source string
		want   string // part of the only violation; empty when there is none
	}{
		{"lower imports lower", "transport/a.go", library("transport", ours+"wire"), ""},
		{"room imports itself", "verbs/inner/a.go", library("inner", ours+"verbs"), ""},
		{"leaf is allowed", "transport/a.go", library("transport", ours+"internal/ring"), ""},
		{"wire imports a leaf", "wire/a.go", library("wire", ours+"internal/ring"), "wire may not import internal"},
		{"transport imports engine", "transport/a.go", library("transport", ours+"udp"), "transport may not import udp"},
		{"verbs imports engine", "verbs/a.go", library("verbs", ours+"udp/socket"), "verbs may not import udp"},
		{"engines stay apart", "udp/a.go", library("udp", ours+"sim"), "udp may not import sim"},
		{"cm imports engine", "cm/a.go", library("cm", ours+"udp"), "cm may not import udp"},
		{"root package that reaches too deep", "a.go", library("braid", ours+"transport"), "braid may not import transport"},
		{"lower imports root", "verbs/a.go", library("verbs", module), "verbs may not import braid"},
		{"lab imports command", "lab/a.go", library("lab", ours+"cmd/braid"), "lab may not import cmd"},
		{"leaf imports room", "internal/ring/a.go", library("ring", ours+"wire"), "internal may not import wire"},
		{"test engine imports verbs", "internal/loopnet/a.go", library("loopnet", ours+"verbs"), ""},
		{"test engine imports engine", "internal/loopnet/a.go", library("loopnet", ours+"udp"), "internal/loopnet may not import udp"},
		{"engine imports test engine", "udp/a.go", library("udp", ours+"internal/loopnet"), "udp may not import internal/loopnet"},
		{"unknown room", "attic/a.go", library("attic", "fmt"), `room "attic" is not in the import law`},
		{"behind a build tag", "transport/a.go", "//go:build plan9\n\n" + library("transport", ours+"udp"), "transport may not import udp"},
		{"similar module path", "transport/a.go", library("transport", module+"x/udp"), "transport is core"},

		{"socket in transport", "transport/a.go", library("transport", "net"), `may not import "net"`},
		{"package below a denied one", "transport/a.go", library("transport", "sync/atomic"), `may not import "sync/atomic"`},
		{"address value", "transport/a.go", library("transport", "net/netip"), ""},
		{"reader in wire", "wire/a.go", library("wire", "io"), `may not import "io"`},
		{"clock in wire", "wire/a.go", library("wire", "time"), `may not import "time"`},
		{"socket in engine", "udp/a.go", library("udp", "net"), ""},
		{"system calls in transport", "transport/a.go", library("transport", "golang.org/x/sys/unix"), "may not depend on"},
		{"system calls in engine", "udp/a.go", library("udp", "golang.org/x/sys/unix"), ""},
		{"heavy dependency in core", "verbs/a.go", library("verbs", "github.com/spf13/cobra"), "may not depend on"},
		{"heavy dependency in command", "cmd/braid/a.go", library("main", "github.com/spf13/cobra"), ""},
		{"dot import", "udp/a.go", "// Package udp is clean.\npackage udp\n\nimport . \"net\"\n", "dot import"},

		{"clock in transport", "transport/a.go", body("transport", "time", "time.Now()"), "may not use time.Now"},
		{"clock under an alias", "transport/a.go", body("transport", "time", "clock.Sleep(1)"), "may not use time.Sleep"},
		{"clock as a value", "sim/a.go", body("sim", "time", "f := time.Now; f()"), "may not use time.Now"},
		{"duration in transport", "transport/a.go", body("transport", "time", "_ = time.Second"), ""},
		{"shared randomness", "transport/a.go", body("transport", "math/rand/v2", "_ = rand.IntN(3)"), "may not use math/rand/v2.IntN"},
		{"seeded randomness", "transport/a.go", body("transport", "math/rand/v2", "_ = rand.NewPCG(1, 2)"), ""},
		{"goroutine in transport", "transport/a.go", body("transport", "fmt", "go fmt.Println()"), "may not start a goroutine"},
		{"goroutine in engine", "udp/a.go", body("udp", "fmt", "go fmt.Println()"), ""},
		{"test is free", "transport/a_test.go", body("transport", ours+"udp", "go f()"), ""},

		{"no package comment", "udp/a.go", "package udp\n", "no package comment"},
		{"wrong package comment", "udp/a.go", "// The udp engine.\npackage udp\n", "no package comment"},
		{"empty name", "internal/utils/a.go", library("utils", "fmt"), `package name "utils"`},
		{"long file", "udp/a_test.go", "package udp\n" + strings.Repeat("\n", maxFileLines), "the file has"},
		{"long function", "udp/a.go", body("udp", "fmt", strings.Repeat("\n", maxFunctionLines)), "function f has"},
		{"generated file", "udp/a.go", "// Code generated by stringer. DO NOT EDIT.\n\npackage udp\n" + strings.Repeat("\n", maxFileLines), ""},
		{"word of our own", "cm/a.go", "// Package cm is clean.\npackage cm\n\n// n is the how-manieth call.\nvar n int\n", `say "the ordinal of"`},
		{"word of our own in a test", "cm/a_test.go", "package cm\n\n/* It breathes. */\n", "not a word of the field"},
		{"function that answers", "udp/a.go", "// Package udp is clean.\npackage udp\n\n// n answers the number.\nfunc n() int { return 1 }\n", `say "returns"`},
		{"function that does something and answers", "udp/a.go", "// Package udp is clean.\npackage udp\n\n// n counts and answers the number.\nfunc n() int { return 1 }\n", `say "returns"`},
		{"peer that answers", "udp/a.go", "// Package udp is clean.\npackage udp\n\n// n is for a peer that answers, and needs nothing.\nvar n int\n", ""},
		{"program with ears", "udp/a.go", "// Package udp is clean.\npackage udp\n\n// n counts what the peer has\n// heard of.\nvar n int\n", "or is told of"},
		{"program with a tongue", "udp/a_test.go", "package udp\n\n// The peer speaks TCP.\n", `say "sends, uses`},
		{"document with a tongue", "docs/a.md", "# Peers\n\nWhat is spoken here is TCP.\n", "docs/a.md:3"},
		{"name, and a word that begins alike", "udp/a.go", "// Package udp is clean.\npackage udp\n\n// n is for Heard, a heartbeat.\nvar n int\n", ""},
		{"test data", "udp/testdata/a.go", "package utils\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := fstest.MapFS{
				"wire/doc.go": {Data: []byte(library("wire", "errors"))},
				test.path:     {Data: []byte(test.source)},
			}
			found, err := Check(tree)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case test.want == "" && len(found) != 0:
				t.Errorf("clean file is reported: %v", found)
			case test.want != "" && len(found) != 1:
				t.Errorf("want one violation with %q, have %v", test.want, found)
			case test.want != "" && !strings.Contains(found[0].String(), test.want):
				t.Errorf("want %q, have %v", test.want, found[0])
			case test.want != "" && found[0].Path != test.path:
				t.Errorf("reported at %s, planted at %s", found[0].Path, test.path)
			}
		})
	}
}

func TestUnparsableFileIsAnError(t *testing.T) {
	tree := fstest.MapFS{"udp/a.go": {Data: []byte("package")}}
	if _, err := Check(tree); err == nil {
		t.Error("a file that does not parse was passed over")
	}
}

// TestRoomsExist shows that the law has no room that the tree lacks: a rule for
// nothing would have a reader look for it.
func TestRoomsExist(t *testing.T) {
	for room := range law {
		path := "../../" + room
		if room == rootRoom {
			path = "../.."
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("the law has a room %q, and the tree does not", room)
		}
	}
}

// TestLawIsLayered shows that the law itself has an order: no room may reach
// itself through the rooms that it may import.
func TestLawIsLayered(t *testing.T) {
	var visit func(room string, trail []string)
	visit = func(room string, trail []string) {
		if slices.Contains(trail, room) {
			t.Errorf("the law allows a cycle: %v -> %s", trail, room)
			return
		}
		below, known := law[room]
		if !known {
			t.Errorf("%v may import %q, which has no law", trail, room)
		}
		for _, next := range below.rooms {
			visit(next, append(slices.Clone(trail), room))
		}
	}
	for room := range law {
		visit(room, nil)
	}
}

// library is the source of a documented file that imports one package.
func library(name, imported string) string {
	return fmt.Sprintf("// Package %s is planted.\npackage %s\n\nimport _ %q\n", name, name, imported)
}

// body is the source of a documented file with one function. A statement that
// says clock instead of time finds the package under that alias.
func body(name, imported, statements string) string {
	alias := ""
	if strings.Contains(statements, "clock.") {
		alias = "clock"
	}
	return fmt.Sprintf("// Package %s is planted.\npackage %s\n\nimport %s %q\n\nfunc f() {\n%s\n}\n",
		name, name, alias, imported, statements)
}
