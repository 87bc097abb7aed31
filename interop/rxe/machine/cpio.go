package machine

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// An archive is the contents of an initramfs by absolute path.
type archive map[string]archived

// archived is a file, or a symbolic link, or (with neither) a directory.
type archived struct {
	data       []byte
	target     string // of a symbolic link
	executable bool
	directory  bool
}

// Modes of the archive's files as the kernel has them.
const (
	modeDirectory = 0o040755
	modeLink      = 0o120777
	modeFile      = 0o100644
	modeProgram   = 0o100755
)

// trailerName marks the end of a cpio archive.
const trailerName = "TRAILER!!!"

func (a archived) mode() int {
	switch {
	case a.directory:
		return modeDirectory
	case a.target != "":
		return modeLink
	case a.executable:
		return modeProgram
	}
	return modeFile
}

// writeTo writes the archive in the format that the kernel unpacks ("newc"),
// with the directories that its files need, each before what is in it.
func (a archive) writeTo(w io.Writer) error {
	all := maps.Clone(a)
	for name := range a {
		if !fs.ValidPath(strings.TrimPrefix(name, "/")) {
			return fmt.Errorf("%w: path %q", ErrImage, name)
		}
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			all[dir] = archived{directory: true}
		}
	}
	// Sorted by name, a directory comes before its contents.
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if err := writeEntry(w, i+1, strings.TrimPrefix(name, "/"), all[name]); err != nil {
			return err
		}
	}
	return writeEntry(w, 0, trailerName, archived{})
}

// writeEntry writes one header, name and contents, each padded to four bytes.
func writeEntry(w io.Writer, inode int, name string, entry archived) error {
	data := entry.data
	if entry.target != "" {
		data = []byte(entry.target)
	}
	mode, links := entry.mode(), 1
	if name == trailerName {
		mode = 0
	}
	// magic, inode, mode, uid, gid, links, mtime, size, four device numbers, length
	// of the name with its zero, checksum (unused).
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	for _, part := range []string{header + name + "\x00", string(data)} {
		if _, err := io.WriteString(w, part+strings.Repeat("\x00", -len(part)&3)); err != nil {
			return err
		}
	}
	return nil
}
