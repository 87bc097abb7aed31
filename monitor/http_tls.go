package monitor

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// pageTLS is how a page is served: without TLS on a loopback address, unless a certificate is wanted; elsewhere always with it.
func (m *Monitor) pageTLS(cfg *PageConfig) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, err
	}
	ip, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && ip.IsLoopback()
	if loopback && cfg.Certificate == "" && cfg.Key == "" && cfg.ClientCA == "" {
		return nil, nil // no TLS is no error
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{m.creds.certificate}}
	switch {
	case (cfg.Certificate == "") != (cfg.Key == ""):
		return nil, errors.New("a certificate and its key are needed, not one of them")
	case cfg.Certificate != "":
		pair, err := tls.LoadX509KeyPair(cfg.Certificate, cfg.Key)
		if err != nil {
			return nil, err
		}
		secure.Certificates[0] = pair
	case isEd25519(&m.creds.certificate):
		return nil, errors.New("browsers do not know the kind of key of this monitor: give a certificate for the page (--http-cert, --http-key), " +
			"or remove tls.pem from the directory of the monitor for a new key, with which all have to join anew")
	}
	if cfg.ClientCA != "" {
		secure.ClientAuth = tls.VerifyClientCertIfGiven // others log in
		secure.ClientCAs, err = readAuthorities(cfg.ClientCA)
	} else {
		err = nil
	}
	return secure, err
}

func isEd25519(c *tls.Certificate) bool {
	_, is := c.PrivateKey.(ed25519.PrivateKey)
	return is
}

func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

// pageNames are the names by which a page may be reached: those of its certificate, and those that were given.
func pageNames(cfg *PageConfig, secure *tls.Config) (names []string) {
	for _, name := range cfg.Names {
		names = append(names, strings.ToLower(name))
	}
	if secure == nil || secure.Certificates[0].Leaf == nil {
		return names
	}
	leaf := secure.Certificates[0].Leaf
	for _, name := range leaf.DNSNames {
		names = append(names, strings.ToLower(name))
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// Fingerprint is that of the certificate of the page as browsers show it; empty: there is none.
func (p *Page) Fingerprint() string {
	if p.open {
		return ""
	}
	sum := sha256.Sum256(p.server.TLSConfig.Certificates[0].Certificate[0])
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
