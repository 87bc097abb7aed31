package monitor

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// joinPrefix begins the text that lets an agent join: the fingerprint of the monitor's certificate follows, by which the agent knows the
// monitor, and the secret, by which the monitor knows the agent.
const joinPrefix = "braid1."

// ErrJoin means that a text does not let anybody join.
var ErrJoin = errors.New("not a join token: it begins with " + joinPrefix + " and is what the monitor printed")

// credentials are a monitor's.
type credentials struct {
	certificate tls.Certificate
	secret      string
}

// join is the text that agents need.
func (c *credentials) join() string {
	sum := sha256.Sum256(c.certificate.Certificate[0])
	return joinPrefix + base64.RawURLEncoding.EncodeToString(sum[:]) + "." + c.secret
}

// loadCredentials reads the credentials in a directory, or makes them.
func loadCredentials(dir string) (*credentials, error) {
	keyFile, secretFile := filepath.Join(dir, "tls.pem"), filepath.Join(dir, "secret")
	pair, err := os.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = newCertificate(keyFile)
	}
	if err != nil {
		return nil, err
	}
	c := &credentials{}
	if c.certificate, err = tls.X509KeyPair(pair, pair); err != nil {
		return nil, fmt.Errorf("%s: %w", keyFile, err)
	}
	secret, err := os.ReadFile(secretFile)
	if errors.Is(err, fs.ErrNotExist) {
		secret = []byte(rand.Text())
		err = os.WriteFile(secretFile, secret, 0o600)
	}
	c.secret = strings.TrimSpace(string(secret))
	if err == nil && len(c.secret) < 16 {
		err = fmt.Errorf("%s: a secret of %d characters", secretFile, len(c.secret))
	}
	return c, err
}

// newCertificate makes a key and a certificate of its own for it. It has no end that matters: agents know it by its fingerprint.
func newCertificate(file string) ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "braid monitor"}, DNSNames: []string{"braid-monitor"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(100, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	return text, os.WriteFile(file, text, 0o600)
}

// parseJoin reads what lets an agent join.
func parseJoin(text string) (fingerprint [sha256.Size]byte, secret string, err error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), joinPrefix)
	encoded, secret, both := strings.Cut(rest, ".")
	sum, err := base64.RawURLEncoding.DecodeString(encoded)
	if !ok || !both || err != nil || len(sum) != len(fingerprint) || secret == "" {
		return fingerprint, "", ErrJoin
	}
	copy(fingerprint[:], sum)
	return fingerprint, secret, nil
}

// pinned is TLS with the one server that has the certificate.
func pinned(fingerprint [sha256.Size]byte) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The certificate is its own authority; what is checked instead is that it is the one.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			sum := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(sum[:], fingerprint[:]) != 1 {
				return errors.New("this is not the monitor that the join token is for")
			}
			return nil
		},
	}
}
