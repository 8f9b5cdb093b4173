// Package signer gives k6 scripts the signature of interface.md part 5.1 as the module "k6/x/svc".
// It shares no code with the engine or the reference server, so it is a third witness for the signature vectors.
package signer

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// DefaultScheme is the first word of the Authorization header (signatures/header).
const DefaultScheme = "svc-hmac-sha256"

// macBytes is how much of the HMAC is sent: bytes 0 to 20 (signatures/hmac).
const macBytes = 20

// Call is one call to sign.
type Call struct {
	KeyID       string
	Method      string
	URI         string
	Body        []byte // exactly as sent
	TimestampMs int64
	Nonce       string
	Scheme      string
}

// dataToSign returns <timestamp>;<nonce>;<METHOD> LF <uri> LF <body> LF (signatures/data-to-sign).
func (c Call) dataToSign() []byte {
	head := strconv.FormatInt(c.TimestampMs, 10) + ";" + c.Nonce + ";" + strings.ToUpper(c.Method) + "\n" + c.URI + "\n"
	data := make([]byte, 0, len(head)+len(c.Body)+1)
	data = append(data, head...)
	data = append(data, c.Body...)
	return append(data, '\n')
}

// HMACHeader returns the Authorization header of a call signed with the secret of a key without a public key.
func (c Call) HMACHeader(secret string) (string, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(c.dataToSign())
	return c.header(mac.Sum(nil)[:macBytes])
}

// ECCHeader returns the Authorization header of a call signed with the private key of a key with a public key.
func (c Call) ECCHeader(key ed25519.PrivateKey) (string, error) {
	return c.header(ed25519.Sign(key, c.dataToSign()))
}

func (c Call) header(signature []byte) (string, error) {
	for _, field := range []struct{ name, value string }{{"keyId", c.KeyID}, {"nonce", c.Nonce}} {
		if field.value == "" || strings.ContainsAny(field.value, ";\r\n") {
			return "", fmt.Errorf("Cannot use %q as %s: it must not be empty, nor hold \";\", which separates the fields, or a line break", field.value, field.name)
		}
	}
	return fmt.Sprintf("%s %s;1;%d;%s;%s", c.Scheme, c.KeyID, c.TimestampMs, c.Nonce, base64.StdEncoding.EncodeToString(signature)), nil
}

// ParsePrivateKey reads an ED25519 private key from its PKCS#8 PEM form. Its errors never hold the text of the key.
func ParsePrivateKey(text string) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("Cannot read the private key: expected PEM that begins with \"-----BEGIN PRIVATE KEY-----\"")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("Cannot read the private key: its PEM holds no PKCS#8 key")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("Cannot sign with a key of type %T: expected an ED25519 key", parsed)
	}
	return key, nil
}
