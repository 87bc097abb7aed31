package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The README's first program is this one.
func TestReadmeShowsThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(source), "package main")
	if !strings.Contains(string(readme), "```go\npackage main"+program+"```\n") {
		t.Error("the README does not have examples/pingpong/main.go from its package clause on")
	}
}

// A server and a client fit in 40 lines.
func TestLines(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines > 40 {
		t.Errorf("the program has %d lines", lines)
	}
}
