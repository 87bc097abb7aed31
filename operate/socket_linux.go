package operate

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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

// sockets yields the sockets of this user's programs.
func sockets() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, dir := range statfile.ReadDirs() {
			if statfile.OwnedDir(dir) != nil {
				continue // nobody offers anything there
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if isSocket(e.Name()) && !yield(filepath.Join(dir, e.Name())) {
					return
				}
			}
		}
	}
}

func isSocket(name string) bool {
	return strings.HasPrefix(name, socketPrefix) && strings.HasSuffix(name, socketSuffix)
}

// removeStale removes the sockets of processes that were killed.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !isSocket(e.Name()) {
			continue
		}
		pid, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), socketPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // another process may have
		}
	}
}
