package command

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

const (
	// fullVariable names the program that has all commands, for who has it elsewhere.
	fullVariable = "BRAID_FULL"
	fullName     = "braid-full"
	fullLock     = "lock"
	fullPackage  = "cmd/braid-full"
	// keptFor is how long a program that was built is kept after its last use.
	keptFor = 30 * 24 * time.Hour
)

// Others are the commands that only the full program has, with what they are for.
var Others = [][2]string{
	{"agent", "Probe other machines as the monitor says, and report"},
	{"monitor", "Tell agents whom to probe, and what is at fault"},
	{"sim", "Run braid's transport in a simulated datacenter"},
	{"lab", "Build a leaf-spine network on this machine, break it, and measure"},
	{"man", "Write the manual pages to a directory"},
}

// light is the everyday command: what it does not have, the full program does in its place.
func light() *More {
	return &More{
		Commands: func() (all []*cobra.Command) {
			for _, other := range Others {
				stub := &cobra.Command{
					Use: other[0], Short: other[1], DisableFlagParsing: true, ValidArgsFunction: completeOther,
					RunE: func(cmd *cobra.Command, _ []string) error { return handOver(cmd) },
				}
				stub.SetHelpFunc(func(cmd *cobra.Command, _ []string) { cmd.PrintErrln("braid:", handOver(cmd)) })
				all = append(all, stub)
			}
			return all
		},
		Connect:     func(cmd *cobra.Command, _ *cli.MonitorFlags) (Monitor, error) { return nil, handOver(cmd) },
		Mesh:        func(cmd *cobra.Command, _ *cli.MonitorFlags, _ bool) error { return handOver(cmd) },
		DemoMonitor: func(cmd *cobra.Command, _ time.Duration) error { return handOver(cmd) },
	}
}

// handOver lets the full program do what the command line says, in the place of this process. It returns only if that cannot be.
func handOver(cmd *cobra.Command) error {
	program, err := findFull()
	if err == nil && program == "" {
		program, err = buildFull(cmd.ErrOrStderr())
	}
	if errors.Is(err, errNoFull) { // one of any version is better than none
		if other, missing := exec.LookPath(fullName); missing == nil {
			program, err = filepath.Abs(other)
		}
	}
	if err != nil {
		return err
	}
	args := append([]string{fullName}, cli.ArgumentsOf(cmd)...)
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, args, os.Environ()))
}

// findFull finds the full program where it was put: where the variable says, or beside this one. Empty: nowhere.
func findFull() (string, error) {
	if program := os.Getenv(fullVariable); program != "" {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%s: %w", fullVariable, err)
		}
		return filepath.Abs(program)
	}
	if own, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(own), fullName)); err == nil {
			return beside, nil
		}
	}
	return "", nil
}

// source is what the full program is built from: the tree that this one was built from, or a version of the module.
type source struct{ tree, version string }

// ownSource is where this program is from.
func ownSource() (s source) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		tree := filepath.Join(filepath.Dir(file), "..", "..", "..")
		if trusted(filepath.Join(tree, fullPackage, "main.go")) {
			s.tree = tree
		}
	} else if tree, err := os.Getwd(); err == nil && ours(tree) {
		s.tree = tree
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		s.version = info.Main.Version
	}
	return s
}

// ours says whether a directory is a tree of this program that nobody but who runs this, or root, has made. One that was built with -trimpath
// does not know where its own tree is, and whoever runs it may be in a directory that others write to.
func ours(tree string) bool {
	for _, part := range []string{"", "go.mod", fullPackage, filepath.Join(fullPackage, "main.go")} {
		info, err := os.Stat(filepath.Join(tree, part))
		if err != nil {
			return false
		}
		if owner := ownerOf(info); owner != 0 && int(owner) != os.Getuid() {
			return false
		}
	}
	return true
}

// trusted says whether a file that is to be built and run is of who runs this, of who made this program, or of root. On a machine to
// which the program was copied, others may have made a tree of that name.
func trusted(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	owner := ownerOf(info)
	if owner == 0 || int(owner) == os.Getuid() {
		return true
	}
	own, err := os.Executable()
	if err != nil {
		return false
	}
	program, err := os.Stat(own)
	return err == nil && ownerOf(program) == owner || here(file)
}

func ownerOf(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// here says whether a file is below the present directory: whoever is there has chosen the tree.
func here(file string) bool {
	dir, err := os.Getwd()
	if err != nil {
		return false
	}
	below, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(below)
}

// errNoFull says what to do where the full program can neither be found nor built.
var errNoFull = errors.New("this is a command of " + fullName + ", which is neither beside this program nor on the PATH, and cannot be built here")

// buildFull builds the full program with Go and returns where it is. What is up to date is not built again.
func buildFull(progress io.Writer) (string, error) {
	from := ownSource()
	if from == (source{}) {
		return "", fmt.Errorf("%w: put it beside this one (go build ./%s), or let %s name it", errNoFull, fullPackage, fullVariable)
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoFull, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoFull, err)
	}
	forget(filepath.Join(cache, "braid"), time.Now().Add(-keptFor))
	sum := sha256.Sum256([]byte(from.tree + "\n" + from.version))
	dir := filepath.Join(cache, "braid", fmt.Sprintf("full-%x", sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	free, err := alone(filepath.Join(dir, fullLock))
	if err != nil {
		return "", err
	}
	defer free()
	program := filepath.Join(dir, fullName)
	if from.tree == "" {
		if _, err := os.Stat(program); err == nil {
			return program, nil // a version does not change
		}
	}
	return program, from.build(tool, program, progress)
}

// build runs Go. Who waits for long is told why.
func (s source) build(tool, program string, progress io.Writer) error {
	var build *exec.Cmd
	if s.tree != "" {
		build = exec.Command(tool, "build", "-o", program, "./"+fullPackage)
		build.Dir = s.tree
	} else {
		build = exec.Command(tool, "install", "github.com/braid-rdma/braid/"+fullPackage+"@"+s.version)
		build.Env = append(os.Environ(), "GOBIN="+filepath.Dir(program))
	}
	var says bytes.Buffer
	build.Stdout, build.Stderr = &says, &says
	patience := time.AfterFunc(3*time.Second, func() {
		fmt.Fprintln(progress, "braid: building "+fullName+", which has this command: once, a minute or so")
	})
	defer patience.Stop()
	if err := build.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", fullName, err, bytes.TrimSpace(says.Bytes()))
	}
	return nil
}

// forget removes programs that were last used before an instant.
func forget(cache string, before time.Time) {
	locks, _ := filepath.Glob(filepath.Join(cache, "full-*", fullLock)) // the pattern is fine
	for _, lock := range locks {
		if info, err := os.Stat(lock); err == nil && info.ModTime().Before(before) {
			_ = os.RemoveAll(filepath.Dir(lock)) // who cannot now may later
		}
	}
}

// alone waits until no other process builds, and notes the time.
func alone(path string) (free func(), err error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return nil, err
	}
	now := time.Now()
	return func() { lock.Close() }, os.Chtimes(path, now, now)
}

// completeOther asks the full program, if it is there: nobody waits for a build to complete a word.
func completeOther(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	program, err := findFull()
	if err == nil && program == "" {
		program, err = exec.LookPath(fullName)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	line := append([]string{cobra.ShellCompRequestCmd, cmd.Name()}, args...)
	text, err := exec.CommandContext(cmd.Context(), program, append(line, word)...).Output()
	words, last, ok := cutLast(strings.TrimSpace(string(text)), "\n")
	directive, wrong := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil || wrong != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if !ok {
		return nil, cobra.ShellCompDirective(directive)
	}
	return strings.Split(words, "\n"), cobra.ShellCompDirective(directive)
}

// cutLast cuts a text at the last separator; without one all is behind it.
func cutLast(text, separator string) (before, behind string, ok bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}
