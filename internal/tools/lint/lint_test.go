package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMistakes checks that each linter reports what is marked in testdata with `want`, and nothing else.
func TestMistakes(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "lint")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join("testdata", "mistakes")
	vet := exec.Command("go", "vet", "-vettool="+tool, ".")
	vet.Dir = dir
	out, err := vet.CombinedOutput()
	if err == nil {
		t.Error("mistakes are no failure")
	}
	reported := regexp.MustCompile(`(?m)^(?:\./)?([a-z_]+\.go:\d+):\d+: .*\(([a-z]+)\)$`)
	got := map[string]bool{}
	for _, m := range reported.FindAllStringSubmatch(string(out), -1) {
		got[m[1]+" "+m[2]] = true
	}
	want := marked(t, dir)
	for w := range want {
		if !got[w] {
			t.Errorf("not reported: %s", w)
		}
	}
	for g := range got {
		if !want[g] {
			t.Errorf("reported: %s", g)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// marked are the lines of a directory that end with `// want` and names of linters.
func marked(t *testing.T, dir string) map[string]bool {
	t.Helper()
	want := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for n := 1; lines.Scan(); n++ {
			if _, names, ok := strings.Cut(lines.Text(), "// want "); ok {
				for _, name := range strings.Fields(names) {
					want[filepath.Base(file)+":"+strconv.Itoa(n)+" "+name] = true
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return want
}
