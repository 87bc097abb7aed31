// Command lint is what `go vet` runs instead of its own analyzers: those, and the ones of other well-known tools.
//
//	go vet -vettool=lint ./...
//	lint format .
//
// A program that has just these analyzers is built in a fraction of the time that one with all linters there are takes, and the go
// command keeps what it found of each package in its cache.
//
// What is reported is in all.go, how a tool with an interface of its own becomes an analyzer in adapters.go, an analyzer of ours in
// unexported.go, the formatter in format.go, and what is left out, comments that say `nolint` among it, in filter.go.
package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "format" {
		os.Exit(checkFormat(os.Args[2]))
	}
	list := all()
	if onlyFacts(os.Args[len(os.Args)-1]) {
		list = factMakers(list)
	}
	unitchecker.Main(list...)
}

// onlyFacts says whether the go command asks for no reports: the package is imported by others, which are told of it. A
// file that cannot be read is an error to unitchecker.
func onlyFacts(file string) bool {
	var unit unitchecker.Config
	text, err := os.ReadFile(file)
	return strings.HasSuffix(file, ".cfg") && err == nil && json.Unmarshal(text, &unit) == nil && unit.VetxOnly
}

// factMakers are the few analyzers of the list, and of what it requires, from which others learn something about a package.
// unitchecker would run all that learn something as well, for each package of the standard library.
func factMakers(list []*analysis.Analyzer) (makers []*analysis.Analyzer) {
	for _, a := range list {
		if len(a.FactTypes) > 0 {
			makers = append(makers, a)
		}
		makers = append(makers, factMakers(a.Requires)...)
	}
	slices.SortFunc(makers, func(a, b *analysis.Analyzer) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(makers)
}
