package monitor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
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
	"slices"
	"strings"
	"time"
)

// joinPrefix begins a token: a role, the fingerprint of the monitor's certificate, by which others know the monitor, and a secret, by which
// the monitor knows them, follow, with dots between them.
const joinPrefix = "braid1"

// ErrJoin means that a text is not the token that is needed.
var ErrJoin = errors.New("not a join token: it begins with " + joinPrefix + ". and is in the directory of the monitor")

// credentials are a monitor's.
type credentials struct {
	certificate tls.Certificate
	secrets     map[Role]string
}

// join is the token of a role.
func (c *credentials) join(r Role) string {
	sum := sha256.Sum256(c.certificate.Certificate[0])
	return strings.Join([]string{joinPrefix, string(r), base64.RawURLEncoding.EncodeToString(sum[:]), c.secrets[r]}, ".")
}

// roleOf is the role of who has a token, of some roles.
func (c *credentials) roleOf(token string, some ...Role) (Role, bool) {
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found, ok := Role(""), false
	for _, r := range some { // all, in the same time
		if wanted := sha256.Sum256([]byte(c.join(r))); subtle.ConstantTimeCompare(given[:], wanted[:]) == 1 {
			found, ok = r, true
		}
	}
	return found, ok
}

// JoinFile is the name of the file with the token of a role in the directory of a monitor.
func JoinFile(r Role) string { return "join-" + string(r) }

// loadCredentials reads the credentials in a directory, or makes them.
func loadCredentials(dir string) (*credentials, error) {
	keyFile := filepath.Join(dir, "tls.pem")
	pair, err := os.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = newCertificate(keyFile)
	}
	if err != nil {
		return nil, err
	}
	c := &credentials{secrets: map[Role]string{}}
	if c.certificate, err = tls.X509KeyPair(pair, pair); err != nil {
		return nil, fmt.Errorf("%s: %w", keyFile, err)
	}
	for _, r := range roles {
		if err := c.loadSecret(filepath.Join(dir, JoinFile(r)), r); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// loadSecret reads the token of a role, or makes it. One of another certificate keeps its secret.
func (c *credentials) loadSecret(file string, r Role) error {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.secrets[r] = rand.Text()
	case err != nil:
		return err
	default:
		if c.secrets[r], err = secretIn(text, r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if fresh := c.join(r) + "\n"; fresh != string(text) {
		return os.WriteFile(file, []byte(fresh), 0o600)
	}
	return nil
}

// secretIn is the secret in the token of a role.
func secretIn(token []byte, r Role) (string, error) {
	role, _, secret, err := parseJoin(string(token))
	if err == nil && (role != r || len(secret) < minSecret) {
		err = ErrJoin
	}
	return secret, err
}

// minSecret is the length of a secret that nobody guesses.
const minSecret = 16

// newCertificate makes a key and a certificate of its own for it. It has no end that matters: agents know it by its fingerprint. The kind
// of key is one that browsers know.
func newCertificate(file string) ([]byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "braid monitor"}, DNSNames: []string{"braid-monitor"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(100, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
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

// parseJoin reads a token.
func parseJoin(text string) (r Role, fingerprint [sha256.Size]byte, secret string, err error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 4 || parts[0] != joinPrefix || !slices.Contains(roles, Role(parts[1])) || parts[3] == "" {
		return "", fingerprint, "", ErrJoin
	}
	sum, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sum) != len(fingerprint) {
		return "", fingerprint, "", ErrJoin
	}
	copy(fingerprint[:], sum)
	return Role(parts[1]), fingerprint, parts[3], nil
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
