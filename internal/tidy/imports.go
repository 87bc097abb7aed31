package tidy

import (
	"slices"
	"strconv"
	"strings"
)

// checkImports compares a file's imports with the law of its room.
func (c *checker) checkImports(f *parsedFile, room roomLaw) {
	for _, spec := range f.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has accepted it, so this cannot be
		}
		line := f.line(spec.Pos())
		if spec.Name != nil && spec.Name.Name == "." {
			c.report(f.name, line, "dot import of %q hides where its names come from", target)
		}
		switch {
		case below(target, module):
			imported := importedRoom(target)
			if imported != f.room && !slices.Contains(room.rooms, imported) {
				c.report(f.name, line, "%s may not import %s: it may import %s", f.room, imported, listed(room.rooms))
			}
		case isStandard(target):
			if belowAny(target, room.deniedPackages) && !slices.Contains(room.allowedPackages, target) {
				c.report(f.name, line, "%s may not import %q: the outside world reaches it only as arguments", f.room, target)
			}
		case room.core && !belowAny(target, room.thirdParty):
			c.report(f.name, line, "%s is core and may not depend on %q: of foreign modules it may use %s",
				f.room, target, listed(room.thirdParty))
		}
	}
}

// importedRoom names the room of one of our own import paths.
func importedRoom(target string) string {
	if target == module {
		return rootRoom
	}
	return roomOf(strings.TrimPrefix(target, module+"/"))
}

// below tells whether an import path is prefix or lies under it.
func below(target, prefix string) bool {
	return target == prefix || strings.HasPrefix(target, prefix+"/")
}

func belowAny(target string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return below(target, prefix) })
}

// isStandard tells a standard package by the absence of a dot in the first
// element of its path, as the go command does.
func isStandard(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return !strings.Contains(first, ".")
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
