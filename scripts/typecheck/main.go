// Command typecheck type-checks the packages of the module and their tests, with
// all that they import, for the system and processor that GOOS and GOARCH name. It
// finds what keeps a tree from building there, and compiles nothing: a cross build
// from an empty cache costs ten times as much.
//
//	go list -deps -test ──> packages, imports first ──> parsed and checked ──> errors
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A listed is a package as the go command lists it.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	GoFiles, SFiles []string
	ImportMap       map[string]string // import in the source: package
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

// ours says whether the bodies of functions are checked too.
func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

func main() {
	patterns := os.Args[1:]
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	packages, err := list(patterns)
	if err == nil {
		err = check(packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// list asks the go command for packages, each after what it imports.
func list(patterns []string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,Standard,GoFiles,SFiles,ImportMap,Module,Error"}, patterns...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var packages []*listed
	decoder := json.NewDecoder(out)
	for {
		p := new(listed)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return packages, cmd.Wait()
		} else if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		if p.Error != nil {
			return nil, errors.Join(errors.New(p.Error.Err), cmd.Wait())
		}
		// The main package of a test is generated when it is built.
		if !strings.HasSuffix(p.ImportPath, ".test") {
			packages = append(packages, p)
		}
	}
}

// check checks packages in their order and returns what is wrong with ours.
func check(packages []*listed) error {
	c := checker{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			continue
		}
		if err := c.check(p); err != nil {
			return err
		}
	}
	return errors.Join(c.errs...)
}

// A checker holds what has been checked.
type checker struct {
	fset *token.FileSet
	done map[string]*types.Package // by the path that go list gives
	errs []error
}

func (c *checker) check(p *listed) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: !p.ours(),
		FakeImportC:      true,
		Sizes:            types.SizesFor("gc", os.Getenv("GOARCH")),
		Importer:         importer(func(path string) (*types.Package, error) { return c.imported(p, path) }),
		Error: func(err error) {
			if p.ours() {
				c.errs = append(c.errs, err)
			}
		},
	}
	if p.ours() && len(p.SFiles) == 0 {
		c.checkBodies(files)
	}
	// A variant of a package that is made for a test is named "path [path.test]".
	path, _, _ := strings.Cut(p.ImportPath, " ")
	// Errors go to config.Error; those of others are not ours to repair.
	c.done[p.ImportPath], _ = config.Check(path, c.fset, files, nil)
	return nil
}

// checkBodies reports the functions that assembly would have to implement, in a
// package that has none for this processor.
func (c *checker) checkBodies(files []*ast.File) {
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil {
				c.errs = append(c.errs, fmt.Errorf("%v: missing function body", c.fset.Position(f.Pos())))
			}
		}
	}
}

// imported is a package that was checked before the one that imports it.
func (c *checker) imported(p *listed, path string) (*types.Package, error) {
	if mapped := p.ImportMap[path]; mapped != "" {
		path = mapped
	}
	if found := c.done[path]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("package %s is not listed", path)
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
