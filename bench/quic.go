package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	quicProtocol = "braid-bench"
	quicChunk    = 1 << 20 // bytes per Write and per Read
)

// quicConfig opens the flow-control windows wide at once, so that quic-go is
// measured at its best and not while it tunes them.
var quicConfig = &quic.Config{
	InitialStreamReceiveWindow:     16 << 20,
	MaxStreamReceiveWindow:         16 << 20,
	InitialConnectionReceiveWindow: 24 << 20,
	MaxConnectionReceiveWindow:     24 << 20,
	MaxIdleTimeout:                 10 * time.Second,
}

// measureQUIC measures one stream of quic-go between two processes. The server
// receives and reports; it ends when the client's stream does.
func measureQUIC(ctx context.Context, duration time.Duration) (sample, error) {
	server, client, err := playPair(ctx, "quic", duration)
	if err != nil {
		return sample{}, err
	}
	defer server.kill()
	defer client.kill()
	output, err := server.finish()
	if err != nil {
		return sample{}, err
	}
	if _, err := client.finish(); err != nil {
		return sample{}, err
	}
	return parseRole(output)
}

// serveQUIC accepts one connection, reads one stream to its end and prints the
// goodput from the first byte to the last.
func serveQUIC(ctx context.Context, out io.Writer) error {
	ready := func(address string) error {
		_, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, address)
		return err
	}
	return acceptQUIC(ctx, ready, func(r io.Reader) error {
		received, elapsed, err := drain(r)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(sample{GoodputGbps: float64(received) * 8 / float64(elapsed)})
	})
}

// acceptQUIC accepts one connection, has one stream read to its end, and closes the connection, which is the
// client's sign that everything arrived.
func acceptQUIC(ctx context.Context, ready func(address string) error, read func(io.Reader) error) error {
	certificate, err := temporaryCertificate()
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{quicProtocol},
	}, quicConfig)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := ready(listener.Addr().String()); err != nil {
		return err
	}
	conn, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	stream, err := conn.AcceptUniStream(ctx)
	if err != nil {
		return err
	}
	return errors.Join(read(stream), conn.CloseWithError(0, "done"))
}

func dialQUIC(ctx context.Context, address string) (*quic.Conn, error) {
	return quic.DialAddr(ctx, address, &tls.Config{
		InsecureSkipVerify: true, // the certificate was made a moment ago, for loopback
		NextProtos:         []string{quicProtocol},
	}, quicConfig)
}

// drain reads to the end and returns the bytes after the first read and the
// nanoseconds that they took.
func drain(r io.Reader) (received int64, elapsed time.Duration, err error) {
	buf := make([]byte, quicChunk)
	if _, err := r.Read(buf); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for {
		n, err := r.Read(buf)
		received += int64(n)
		if errors.Is(err, io.EOF) {
			return received, time.Since(start), nil
		}
		if err != nil {
			return received, 0, err
		}
	}
}

// sendQUIC writes one stream for the given time and waits until the server
// closes the connection.
func sendQUIC(ctx context.Context, address string, duration time.Duration) error {
	conn, err := dialQUIC(ctx, address)
	if err != nil {
		return err
	}
	stream, err := conn.OpenUniStreamSync(ctx)
	if err != nil {
		return err
	}
	chunk := make([]byte, quicChunk)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if _, err := stream.Write(chunk); err != nil {
			return err
		}
	}
	if err := stream.Close(); err != nil {
		return err
	}
	select {
	case <-conn.Context().Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// temporaryCertificate makes the self-signed certificate that QUIC cannot do
// without.
func temporaryCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
