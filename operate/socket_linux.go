package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/internal/statfile"
)

// The name of a socket is of the process, the number and a random part.
const socketPrefix, socketSuffix = "op-", ".sock"

// listen opens a socket in the first directory where that is possible: the one where statistics are published.
func listen(i *Identity) (*net.UnixListener, error) {
	var wrong error
	for _, dir := range statfile.Dirs() {
		err := statfile.MakeDir(dir)
		if err == nil {
			removeStale(dir)
			name := fmt.Sprintf("%s%d-%d-%x%s", socketPrefix, i.PID, i.Number, rand.Uint32(), socketSuffix)
			var l *net.UnixListener
			if l, err = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)}); err == nil {
				return l, nil
			}
		}
		wrong = errors.Join(wrong, err)
	}
	return nil, wrong
}

// checkPeer refuses other users, but for root.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if uid := int(peer.Uid); uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%w: user %d", fs.ErrPermission, uid)
	}
	return nil
}

// sockets yields the sockets of this user's programs; root's are all.
func sockets() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, dir := range directories() {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if isSocket(e.Name()) && !yield(filepath.Join(dir, e.Name())) {
					return
				}
			}
		}
	}
}

// othersDirs are where the programs of all users may have sockets.
var othersDirs = []string{"/run/user/*/braid", "/dev/shm/braid-*"}

func isNoDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || !info.IsDir()
}

// directories are where sockets are: those of this user alone and, for root, those of others.
func directories() (all []string) {
	for _, dir := range statfile.ReadDirs() {
		if statfile.OwnedDir(dir) == nil { // else nobody offers anything there
			all = append(all, dir)
		}
	}
	if os.Geteuid() == 0 && os.Getenv(statfile.DirVariable) == "" {
		for _, pattern := range othersDirs {
			others, _ := filepath.Glob(pattern)                            // a good pattern
			all = append(all, slices.DeleteFunc(others, isNoDirectory)...) // a link leads to the sockets of others, which are there already
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// dial connects to the socket of a program. It is what its name says and no link to another: root's connections would go where
// root may, and the directories of others are theirs.
func dial(ctx context.Context, path string) (net.Conn, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("%s: %w: it is no socket", path, fs.ErrPermission)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}

func isSocket(name string) bool {
	return strings.HasPrefix(name, socketPrefix) && strings.HasSuffix(name, socketSuffix)
}

// settled is when a socket that was made is listened to.
const settled = time.Second

// removeStale removes the sockets of processes that were killed.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); isSocket(e.Name()) && isGone(e.Name()) && deserted(path) {
			_ = os.Remove(path) // another process may have
		}
	}
}

// isGone says whether the process in the name of a socket is not there. The number of this process may be that of one before it: in a container
// each of them may be the first.
func isGone(name string) bool {
	pid, _, _ := strings.Cut(strings.TrimPrefix(name, socketPrefix), "-")
	n, err := strconv.Atoi(pid)
	return err == nil && (n == os.Getpid() || errors.Is(unix.Kill(n, 0), unix.ESRCH))
}

// deserted says whether no process listens to a socket. One in another container may, where numbers of processes are others.
func deserted(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < settled {
		return false
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}
