package main

import (
	"slices"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	critic "github.com/go-critic/go-critic/checkers/analyzer"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/ultraware/funlen"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/quickfix"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// notChecked are checks of staticcheck that braid does without.
var notChecked = []string{
	"ST1005",           // sub-sentences of error texts start with names such as QP and RDMA
	"ST1000", "ST1003", // house style keeps short receiver and package names as they are
	"QF1008", // embedded selectors are spelled out where that tells the owner
}

// A linter is the name by which comments and exclusions know some analyzers.
type linter struct {
	name      string
	analyzers []*analysis.Analyzer
}

// all are the analyzers, each without what is excluded.
func all() []*analysis.Analyzer {
	linters := []linter{
		{"govet", append(slices.Clone(vet.Suite), nilness.Analyzer, unusedwrite.Analyzer)},
		{"staticcheck", staticchecks()},
		{"gocritic", []*analysis.Analyzer{gocritic()}},
		{"errorlint", []*analysis.Analyzer{errorlint.NewAnalyzer()}},
		{"funlen", []*analysis.Analyzer{funlen.NewAnalyzer(90, 70, true)}},
		{"ineffassign", []*analysis.Analyzer{ineffassign.Analyzer}},
		{"errcheck", []*analysis.Analyzer{unchecked}},
		{"misspell", []*analysis.Analyzer{misspelled}},
		{"revive", []*analysis.Analyzer{revived}},
		{"unexported", []*analysis.Analyzer{unexportedReturn}},
		{"unconvert", []*analysis.Analyzer{unconverted}},
		{"unused", []*analysis.Analyzer{unusedObjects}},
	}
	var list []*analysis.Analyzer
	for _, l := range linters {
		for _, a := range l.analyzers {
			list = append(list, filtered(l.name, a))
		}
	}
	return list
}

func staticchecks() (list []*analysis.Analyzer) {
	for _, set := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers, quickfix.Analyzers} {
		for _, a := range set {
			if !slices.Contains(notChecked, a.Analyzer.Name) {
				list = append(list, a.Analyzer)
			}
		}
	}
	return list
}

// gocritic leaves out what it calls experimental and opinionated, and two more: the chains that ifElseChain complains of read
// better than a switch in parsers, and log.Fatal after a defer is how the examples end on an error.
func gocritic() *analysis.Analyzer {
	a := *critic.Analyzer
	a.Name = "gocritic"
	if err := critic.Analyzer.Flags.Set("disable", "#experimental,#opinionated,#performance,ifElseChain,exitAfterDefer"); err != nil {
		panic(err) // the flag is a list of names
	}
	return &a
}
