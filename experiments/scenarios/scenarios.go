// Package scenarios holds the scenarios that come with braid: short, documented
// examples of what a scenario can say, each of which runs in a second or two.
package scenarios

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

const suffix = ".yaml"

// Names lists the scenarios in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // cannot be: the directory is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	slices.Sort(names)
	return names
}

// Named returns the text of a scenario.
func Named(name string) (data []byte, ok bool) {
	data, err := files.ReadFile(name + suffix)
	return data, err == nil
}
