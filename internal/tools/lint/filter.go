package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// An exclusion is what a linter says in some files and braid does not act on.
type exclusion struct {
	linter     string
	path, text *regexp.Regexp
}

var (
	anything = regexp.MustCompile("")
	tests    = regexp.MustCompile(`_test\.go$`)
)

var exclusions = []exclusion{
	{"errcheck", tests, anything},
	{"funlen", tests, anything},
	// Closing what was only read and printing to a terminal that went away are not worth a branch.
	{"errcheck", anything, regexp.MustCompile(`(?i)error of ((os\.)?std(out|err)\..*|.*Close|.*Flush|os\.Remove(All)?|.*print(f|ln)?|os\.(Un)?Setenv) is`)},
	// In what cgo makes of a call, not in what is written.
	{"gocritic", regexp.MustCompile(`/ibverbs/`), regexp.MustCompile("dupSubExpr")},
}

// filtered is an analyzer that keeps to itself what is excluded.
func filtered(linter string, a *analysis.Analyzer) *analysis.Analyzer {
	quiet := *a
	quiet.Run = func(pass *analysis.Pass) (any, error) {
		left := leftOut(pass.Fset, pass.Files, linter)
		p := *pass
		p.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			if left[lineOf(at)] || left[fileOf(at)] || excluded(linter, at.Filename, d.Message) {
				return
			}
			d.Message += " (" + linter + ")"
			pass.Report(d)
		}
		return a.Run(&p)
	}
	return &quiet
}

func excluded(linter, file, message string) bool {
	for _, e := range exclusions {
		if e.linter == linter && e.path.MatchString(file) && e.text.MatchString(message) {
			return true
		}
	}
	return false
}

// lineOf and fileOf are the two things that can be left out.
func lineOf(at token.Position) token.Position {
	return token.Position{Filename: at.Filename, Line: at.Line}
}
func fileOf(at token.Position) token.Position { return token.Position{Filename: at.Filename} }

var noLint = regexp.MustCompile(`^//nolint:([a-z,]+)`)

// leftOut are the files that a program wrote, and the lines whose comments name the linter: //nolint:errcheck // and why.
func leftOut(files *token.FileSet, of []*ast.File, linter string) map[token.Position]bool {
	left := map[token.Position]bool{}
	for _, f := range of {
		at := files.Position(f.Pos())
		if ast.IsGenerated(f) || !strings.HasSuffix(at.Filename, ".go") {
			left[fileOf(at)] = true
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if m := noLint.FindStringSubmatch(c.Text); m != nil && strings.Contains(","+m[1]+",", ","+linter+",") {
					left[lineOf(files.Position(c.Pos()))] = true
				}
			}
		}
	}
	return left
}
