package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Violation is one place where the tree breaks a rule.
type Violation struct {
	Path string // slash-separated, from the root of the tree
	Line int    // 1 when the whole file or directory is meant
	Text string // what is wrong and what the rule asks for
}

// String renders the violation the way compilers print errors, so that editors
// can jump to it.
func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s", v.Path, v.Line, v.Text)
}

// Check parses every Go file of the tree, whose root is the module's root, looks
// through its documents, and returns what breaks the rules in the order of paths
// and lines. An error means that a file could not be read or parsed.
func Check(tree fs.FS) ([]Violation, error) {
	c := checker{docs: map[string]packageDoc{}}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if ignoredDir(name) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go" && path.Ext(name) != ".md":
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".md" {
			c.checkProse(name, source)
			return nil
		}
		return c.checkFile(name, source)
	})
	if err != nil {
		return nil, fmt.Errorf("tidy: %w", err)
	}
	c.checkPackageDocs()
	slices.SortFunc(c.found, func(a, b Violation) int {
		if byPath := strings.Compare(a.Path, b.Path); byPath != 0 {
			return byPath
		}
		return a.Line - b.Line
	})
	return c.found, nil
}

// ignoredDir tells which directories the go command ignores as well.
func ignoredDir(name string) bool {
	base := path.Base(name)
	return name != "." && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_')
}

// roomOf names the room of a directory, given by its path from the root. Below
// internal a package may be a room of its own; everywhere else the top-level
// directory is the room.
func roomOf(dir string) string {
	if dir == "." {
		return rootRoom
	}
	first, rest, _ := strings.Cut(dir, "/")
	second, _, _ := strings.Cut(rest, "/")
	if _, own := law[first+"/"+second]; own {
		return first + "/" + second
	}
	return first
}

// A checker gathers violations while the tree is walked.
type checker struct {
	found []Violation
	docs  map[string]packageDoc // by directory
}

// A parsedFile is what every rule looks at.
type parsedFile struct {
	name   string
	room   string
	isTest bool
	lines  int
	fset   *token.FileSet
	syntax *ast.File
}

func (f *parsedFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

func (c *checker) report(name string, line int, format string, args ...any) {
	c.found = append(c.found, Violation{Path: name, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) checkFile(name string, source []byte) error {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &parsedFile{
		name:   name,
		room:   roomOf(path.Dir(name)),
		isTest: strings.HasSuffix(name, "_test.go"),
		lines:  bytes.Count(source, []byte("\n")),
		fset:   fset,
		syntax: syntax,
	}
	c.checkStyle(f)
	c.checkWords(f)
	if f.isTest {
		return nil
	}
	room, known := law[f.room]
	if !known {
		c.report(name, 1, "room %q is not in the import law: say in internal/tidy/law.go what it may import", f.room)
		return nil
	}
	c.checkImports(f, room)
	c.checkPurity(f, room)
	return nil
}
