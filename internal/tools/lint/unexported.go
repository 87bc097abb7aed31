package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// unexportedReturn finds exported functions, and exported methods of exported types, whose callers in other packages get a value
// of a type that they cannot name.
var unexportedReturn = &analysis.Analyzer{
	Name: "unexported", Doc: "reports results of types that a caller cannot name", Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Name() == "main" {
			return nil, nil
		}
		for _, file := range pass.Files {
			if tests.MatchString(pass.Fset.File(file.Pos()).Name()) {
				continue
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && f.Type.Results != nil {
					reportUnexported(pass, f)
				}
			}
		}
		return nil, nil
	},
}

func reportUnexported(pass *analysis.Pass, f *ast.FuncDecl) {
	signature := pass.TypesInfo.Defs[f.Name].Type().(*types.Signature)
	if r := signature.Recv(); r != nil && !nameable(r.Type()) {
		return
	}
	for _, field := range f.Type.Results.List {
		if t := pass.TypesInfo.TypeOf(field.Type); !nameable(t) {
			pass.Reportf(field.Pos(), "%s returns %s, which is not exported", f.Name.Name, types.TypeString(t, types.RelativeTo(pass.Pkg)))
		}
	}
}

// nameable says whether other packages can name a type, or have no need to, as of a struct without a name.
func nameable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Alias:
		return exported(t.Obj())
	case *types.Named:
		return exported(t.Obj())
	case *types.Map:
		return nameable(t.Key()) && nameable(t.Elem())
	case interface{ Elem() types.Type }: // array, slice, pointer, channel
		return nameable(t.Elem())
	}
	return true
}

// exported says whether a name is, or is one of the language's own.
func exported(name *types.TypeName) bool { return name.Pkg() == nil || name.Exported() }
