package statfile

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// DirVariable names the directory in the environment, in the place of all others.
const DirVariable = "BRAID_STATS_DIR"

// prefix begins the name of a file; the process, the number of the context and a random part follow. One that is being made
// is unfinished.
const (
	prefix     = "ctx-"
	unfinished = "new-"
)

// Dirs are where files are published, the best first: directories of this user in memory.
func Dirs() []string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return []string{dir}
	}
	user := strconv.Itoa(os.Geteuid())
	var dirs []string
	// Under sudo it may still be that of the other user.
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && isOurs(runtime) {
		dirs = append(dirs, filepath.Join(runtime, "braid"))
	}
	return append(dirs, "/dev/shm/braid-"+user, filepath.Join(os.TempDir(), "braid-"+user))
}

// ReadDirs are where to look: also where programs publish that have another environment.
func ReadDirs() []string {
	dirs := Dirs()
	if os.Getenv(DirVariable) == "" {
		dirs = append(dirs, "/run/user/"+strconv.Itoa(os.Geteuid())+"/braid")
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Program is the name of the program that this process runs. It is empty where a C program has loaded Go, and its library does not pass on how it was started.
func Program() string {
	if len(os.Args) == 0 {
		return ""
	}
	return filepath.Base(os.Args[0])
}
