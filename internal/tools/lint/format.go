package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/gofumpt/format"
)

// unformatted lists the Go files below a directory that gofumpt would change. Its own command is made of much that a check does
// not need, and what is written by programs is as they write it.
func unformatted(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		formatted, err := isFormatted(path)
		if !formatted {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

func isFormatted(path string) (bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return err == nil, err
	}
	better, err := format.Source(text, format.Options{LangVersion: "go1.26", ModulePath: "github.com/braid-rdma/braid"})
	return err == nil && bytes.Equal(text, better), err
}

// checkFormat is what `lint format DIRECTORY` does. It returns the exit code.
func checkFormat(dir string) int {
	files, err := unformatted(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		return 2
	}
	for _, file := range files {
		fmt.Println(file + ": gofumpt would change it: go tool -modfile=internal/tools/go.mod gofumpt -w " + file)
	}
	return min(len(files), 1)
}
