package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// The limits are generous: a file or function that reaches one has long asked
// to be two.
const (
	maxFileLines     = 500
	maxFunctionLines = 100
)

// emptyNames say nothing about what a package holds, so everything ends up there.
var emptyNames = []string{"util", "utils", "helper", "helpers", "common", "misc", "shared", "base"}

// A packageDoc remembers whether some file of a directory documents the package.
type packageDoc struct {
	name       string
	firstFile  string
	documented bool
}

// checkStyle applies the limits to one file and notes its package comment.
func (c *checker) checkStyle(f *parsedFile) {
	if ast.IsGenerated(f.syntax) {
		return
	}
	if f.lines > maxFileLines {
		c.report(f.name, 1, "the file has %d lines, more than %d: one subject per file", f.lines, maxFileLines)
	}
	name := f.syntax.Name.Name
	if slices.Contains(emptyNames, strings.TrimSuffix(name, "_test")) {
		c.report(f.name, f.line(f.syntax.Name.Pos()), "package name %q says nothing about its contents", name)
	}
	if f.isTest {
		return
	}
	c.checkFunctions(f)
	c.noteDoc(f)
}

func (c *checker) checkFunctions(f *parsedFile) {
	for _, decl := range f.syntax.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		start := f.line(function.Pos())
		lines := f.line(function.End()) - start + 1
		if lines > maxFunctionLines {
			c.report(f.name, start, "function %s has %d lines, more than %d", function.Name.Name, lines, maxFunctionLines)
		}
	}
}

// noteDoc records the file's package comment. A library's comment starts with
// "Package name", as go doc expects; a command may open as it likes.
func (c *checker) noteDoc(f *parsedFile) {
	dir := path.Dir(f.name)
	doc, seen := c.docs[dir]
	if !seen {
		doc = packageDoc{name: f.syntax.Name.Name, firstFile: f.name}
	}
	text := f.syntax.Doc.Text()
	if doc.name == "main" {
		doc.documented = doc.documented || text != ""
	} else {
		doc.documented = doc.documented || strings.HasPrefix(text, "Package "+doc.name+" ")
	}
	c.docs[dir] = doc
}

// checkPackageDocs reports, once all files are read, the packages that none of
// their files documents.
func (c *checker) checkPackageDocs() {
	for _, doc := range c.docs {
		if !doc.documented {
			c.report(doc.firstFile, 1, "package %s has no package comment", doc.name)
		}
	}
}
