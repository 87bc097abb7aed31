package export

import (
	"io"
	"os"
	"path/filepath"
)

// A file is the temporary file behind a writer; tests put a full disk in its
// place.
type file interface {
	io.WriteCloser
	Sync() error
	// publish renames the closed file to path.
	publish(path string) error
	// discard closes and removes the file.
	discard()
}

// temporaryFile is a file beside its target, so that a rename can replace the
// target in one step.
type temporaryFile struct{ *os.File }

func createTemporary(path string) (file, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, err
	}
	// Temporary files are private; results are for everyone to read.
	if err := f.Chmod(0o644); err != nil {
		temporaryFile{f}.discard()
		return nil, err
	}
	return temporaryFile{f}, nil
}

func (f temporaryFile) publish(path string) error {
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	// The new name must survive a crash too. Some file systems cannot sync a
	// directory; the file itself is safe by then.
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

func (f temporaryFile) discard() {
	// Closing fails if it has happened before; removing is all that matters, and
	// if that fails nothing else is left to try.
	_ = f.Close()
	_ = os.Remove(f.Name())
}
