package machine

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// libraryDirs is where Debian's dynamic linker looks, the multiarch folders
// first.
var libraryDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/lib", "/usr/lib",
}

// libraryDir is where libraries are in the machine: a folder that its dynamic
// linker looks into as well.
const libraryDir = "/lib/x86_64-linux-gnu"

// addProgram adds a program of this host, under a path, with its dynamic linker
// and all libraries that it is linked with.
func (a archive) addProgram(hostPath, name string) error {
	data, err := os.ReadFile(hostPath)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImage, err)
	}
	a[name] = archived{data: data, executable: true}
	return a.addLibraries(hostPath)
}

// addLibraries adds what a program or library is linked with.
func (a archive) addLibraries(hostPath string) error {
	object, err := elf.Open(hostPath)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrImage, hostPath, err)
	}
	defer object.Close()
	if linker := interpreter(object); linker != "" {
		if err := a.addFile(linker, linker); err != nil {
			return err
		}
	}
	needed, err := object.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrImage, hostPath, err)
	}
	for _, library := range needed {
		at := libraryDir + "/" + library
		if _, have := a[at]; have {
			continue
		}
		found := findLibrary(library)
		if found == "" {
			return fmt.Errorf("%w: %s needs %s, which is not installed", ErrImage, hostPath, library)
		}
		if err := a.addProgram(found, at); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds a file of this host as it is.
func (a archive) addFile(hostPath, name string) error {
	data, err := os.ReadFile(hostPath)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImage, err)
	}
	info, err := os.Stat(hostPath)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImage, err)
	}
	a[name] = archived{data: data, executable: info.Mode()&0o111 != 0}
	return nil
}

// interpreter is the dynamic linker that a program asks for.
func interpreter(object *elf.File) string {
	for _, segment := range object.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		path := make([]byte, segment.Filesz)
		if _, err := segment.ReadAt(path, 0); err == nil {
			return strings.TrimRight(string(path), "\x00")
		}
	}
	return ""
}

func findLibrary(name string) string {
	for _, dir := range libraryDirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
