package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
)

// clockNames are the members of package time that read or wait for the wall
// clock. The types and constants of the package stay usable.
var clockNames = []string{
	"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker",
}

// seededNames are the members of math/rand and math/rand/v2 that work on a
// source which the caller seeds. Every other member draws from the process-wide
// source, which no seed replays.
var seededNames = []string{
	"New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf",
}

// checkPurity looks for what makes a pure room depend on more than its inputs:
// goroutines, the clock and the process-wide random source.
func (c *checker) checkPurity(f *parsedFile, room roomLaw) {
	if !room.sequential && !room.deterministic {
		return
	}
	packages := importedNames(f.syntax)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if room.sequential {
				c.report(f.name, f.line(n.Pos()), "%s may not start a goroutine: the engine owns the loop", f.room)
			}
		case *ast.SelectorExpr:
			owner, ok := n.X.(*ast.Ident)
			if !ok || !room.deterministic {
				return true
			}
			target := packages[owner.Name]
			if impure(target, n.Sel.Name) {
				c.report(f.name, f.line(n.Pos()), "%s may not use %s.%s: time and randomness are handed in",
					f.room, target, n.Sel.Name)
			}
		}
		return true
	})
}

func impure(target, member string) bool {
	switch target {
	case "time":
		return slices.Contains(clockNames, member)
	case "math/rand", "math/rand/v2":
		return !slices.Contains(seededNames, member)
	}
	return false
}

// importedNames maps the name by which a file refers to a package to the
// package's import path. Only the packages that impure knows need to be right,
// so the version suffix of math/rand/v2 is the one that is handled.
func importedNames(file *ast.File) map[string]string {
	names := make(map[string]string, len(file.Imports))
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(target)
		if name == "v2" {
			name = path.Base(path.Dir(target))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}
