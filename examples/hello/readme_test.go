package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsThisProgram compares the program of the README's "One layer down" with
// this one, which TestBetweenTwoHosts runs.
func TestReadmeShowsThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "### One layer down: verbs\n")
	_, rest, _ := strings.Cut(section, "```go\n")
	shown, _, _ := strings.Cut(rest, "```\n")
	_, want, _ := strings.Cut(string(program), "package main\n")
	if _, got, _ := strings.Cut(shown, "package main\n"); got != want {
		t.Errorf("the README's program is not examples/hello/main.go from its package clause on; it has\n%s", got)
	}
}
