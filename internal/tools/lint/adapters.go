package main

import (
	"cmp"
	"go/token"
	"os"

	"github.com/golangci/misspell"
	"github.com/golangci/unconvert"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/mgechev/revive/lint"
	"github.com/mgechev/revive/rule"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// unchecked names the function whose error is ignored, which the analyzer of errcheck does not.
var unchecked = &analysis.Analyzer{
	Name: "errcheck", Doc: "reports errors that nobody looks at", Requires: []*analysis.Analyzer{errcheck.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[errcheck.Analyzer].(errcheck.Result)
		for _, e := range found.Unique().UncheckedErrors {
			pass.Reportf(place(pass, e.Pos), "the error of %s is not looked at", cmp.Or(e.SelectorName, e.FuncName, "this"))
		}
		return nil, nil
	},
}

var misspelled = &analysis.Analyzer{
	Name: "misspell", Doc: "reports words that are often misspelled", Run: func(pass *analysis.Pass) (any, error) {
		r := misspell.Replacer{Replacements: misspell.DictMain}
		r.RemoveRule([]string{"ect"}) // ECT(0), a code point of ECN
		r.Compile()
		for _, f := range pass.Files {
			file := pass.Fset.File(f.Pos())
			text, err := pass.ReadFile(file.Name())
			if err != nil {
				return nil, err
			}
			_, found := r.Replace(string(text))
			for _, d := range found {
				pass.Reportf(file.LineStart(d.Line)+token.Pos(d.Column), "%q is a misspelling of %q", d.Original, d.Corrected)
			}
		}
		return nil, nil
	},
}

// revived has the rules that look at the text alone. For the others revive checks types once more, and asks the go command for each
// package that is imported: that took as long as all other linters. ST1011 of staticcheck is one of them, unexportedReturn another.
var revived = &analysis.Analyzer{
	Name: "revive", Doc: "reports deviations from Go's conventions", Run: func(pass *analysis.Pass) (any, error) {
		rules := []lint.Rule{
			&rule.BlankImportsRule{}, &rule.ContextAsArgumentRule{}, &rule.DotImportsRule{}, &rule.ErrorNamingRule{}, &rule.ErrorReturnRule{},
			&rule.ExportedRule{}, &rule.PackageCommentsRule{}, &rule.ReceiverNamingRule{}, &rule.UnreachableCodeRule{},
		}
		for _, r := range rules {
			if c, ok := r.(lint.ConfigurableRule); ok {
				if err := c.Configure(nil); err != nil {
					return nil, err
				}
			}
		}
		var files []string
		for _, f := range pass.Files {
			files = append(files, pass.Fset.File(f.Pos()).Name())
		}
		linter := lint.New(os.ReadFile, 0)
		found, err := linter.Lint([][]string{files}, rules, lint.Config{Confidence: 0.8})
		if err != nil {
			return nil, err
		}
		for f := range found {
			if f.Confidence >= 0.8 {
				pass.Reportf(place(pass, f.Position.Start), "%s: %s", f.RuleName, f.Failure)
			}
		}
		return nil, nil
	},
}

var unconverted = &analysis.Analyzer{
	Name: "unconvert", Doc: "reports conversions to the type that a value has", Run: func(pass *analysis.Pass) (any, error) {
		for _, p := range unconvert.Run(pass) {
			pass.Reportf(place(pass, p), "unnecessary conversion")
		}
		return nil, nil
	},
}

var unusedObjects = &analysis.Analyzer{
	Name: "unused", Doc: "reports what nothing in the package uses", Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		for _, o := range found.Unused {
			if o.Kind != "type param" {
				pass.Reportf(place(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
			}
		}
		return nil, nil
	},
}

// place finds a position of a tool in the files of a pass.
func place(pass *analysis.Pass, p token.Position) token.Pos {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.Pos()); file.Name() == p.Filename {
			return file.LineStart(p.Line) + token.Pos(max(p.Column, 1)-1)
		}
	}
	return token.NoPos
}
