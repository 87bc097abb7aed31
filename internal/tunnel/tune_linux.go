package tunnel

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// tune bounds what the kernel holds of what is sent, and for how long.
func tune(conn net.Conn, patience time.Duration) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	// None of these can fail on a socket that works, and one that does not ends the tunnel.
	_ = tcp.SetNoDelay(true)
	_ = tcp.SetWriteBuffer(socketBuffer)
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patience.Milliseconds()))
		})
	}
}
