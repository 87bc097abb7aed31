//go:build !linux

package tunnel

import (
	"net"
	"time"
)

// tune bounds what the kernel holds of what is sent.
func tune(conn net.Conn, _ time.Duration) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(true)
		_ = tcp.SetWriteBuffer(socketBuffer)
	}
}
