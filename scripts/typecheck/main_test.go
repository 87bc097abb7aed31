package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherSystem plants mistakes that only one system has.
func TestOtherSystem(t *testing.T) {
	tests := []struct {
		name, file, source string
		want               string // part of the error on darwin; empty when there is none
	}{
		{"clean", "b_darwin.go", "package a\n\nfunc f() int { return 1 }\n", ""},
		{"undefined", "b_linux.go", "package a\n\nfunc f() int { return 1 }\n", "undefined: f"},
		{"wrong type", "b_darwin.go", "package a\n\nfunc f() string { return \"\" }\n", "cannot use f()"},
		{"without a body", "b_darwin.go", "package a\n\nfunc f() int\n", "missing function body"},
		{"in a test", "b_test.go", "package a\n\nfunc f() int { return 1 }\n\nvar _ = g\n", "undefined: g"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, source := range map[string]string{
				"go.mod":  "module example.org/a\n\ngo 1.26\n",
				"a.go":    "package a\n\nimport \"unsafe\"\n\nvar n int = f()\n\nvar _ = unsafe.Sizeof(n)\n",
				test.file: test.source,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			t.Setenv("GOOS", "darwin")
			t.Setenv("GOARCH", "arm64")
			t.Setenv("GOFLAGS", "")
			packages, err := list([]string{"./..."})
			if err == nil {
				err = check(packages)
			}
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a clean package is reported: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
