package signer

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
)

func init() {
	modules.Register("k6/x/svc", New())
}

// Module is shared by all VUs of a process.
type Module struct {
	refusals *refusals
}

// New returns a module that has counted nothing yet.
func New() *Module {
	return &Module{refusals: newRefusals()}
}

// NewModuleInstance implements modules.Module: each VU has its own instance.
func (m *Module) NewModuleInstance(vu modules.VU) modules.Instance {
	return &instance{vu: vu, refusals: m.refusals, keys: map[string]ed25519.PrivateKey{}}
}

type instance struct {
	vu       modules.VU
	refusals *refusals
	keys     map[string]ed25519.PrivateKey // by PEM: a key is read once per VU, not once per call
}

// Exports implements modules.Instance.
func (i *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"sign":         i.sign,
		"countRefusal": i.refusals.add,
		"listRefusals": i.refusals.list,
	}}
}

// sign takes {keyId, secret | privateKeyPem, body, method?, uri?, timestamp?, nonce?, scheme?} and returns the Authorization header.
// Without timestamp and nonce it takes the present time in milliseconds and 16 random bytes in hex.
func (i *instance) sign(options *sobek.Object) string {
	header, err := i.header(options)
	if err != nil {
		common.Throw(i.vu.Runtime(), err)
	}
	return header
}

func (i *instance) header(options *sobek.Object) (string, error) {
	if options == nil {
		return "", errors.New("Cannot sign: expected an object with keyId, body, and secret or privateKeyPem")
	}
	body, err := bodyOf(options)
	if err != nil {
		return "", err
	}
	call := Call{
		KeyID:       text(options, "keyId", ""),
		Method:      text(options, "method", "POST"),
		URI:         text(options, "uri", "/api"),
		Body:        body,
		TimestampMs: time.Now().UnixMilli(),
		Nonce:       text(options, "nonce", ""),
		Scheme:      text(options, "scheme", DefaultScheme),
	}
	if value := options.Get("timestamp"); !common.IsNullish(value) {
		call.TimestampMs = value.ToInteger()
	}
	if common.IsNullish(options.Get("nonce")) {
		call.Nonce = randomNonce()
	}
	secret, privateKey := text(options, "secret", ""), text(options, "privateKeyPem", "")
	switch {
	case secret != "" && privateKey == "":
		return call.HMACHeader(secret)
	case privateKey != "" && secret == "":
		key, err := i.keyOf(privateKey)
		if err != nil {
			return "", err
		}
		return call.ECCHeader(key)
	default:
		return "", errors.New("Cannot sign: expected either secret or privateKeyPem")
	}
}

func (i *instance) keyOf(privateKeyPem string) (ed25519.PrivateKey, error) {
	if key, known := i.keys[privateKeyPem]; known {
		return key, nil
	}
	key, err := ParsePrivateKey(privateKeyPem)
	if err == nil {
		i.keys[privateKeyPem] = key
	}
	return key, err
}

func bodyOf(options *sobek.Object) ([]byte, error) {
	value := options.Get("body")
	if common.IsNullish(value) {
		return nil, errors.New("Cannot sign without a body: expected the string or ArrayBuffer that is sent")
	}
	body, err := common.ToBytes(value.Export())
	if err != nil {
		return nil, fmt.Errorf("Cannot sign this body: %w", err)
	}
	return body, nil
}

func text(options *sobek.Object, name, fallback string) string {
	if value := options.Get(name); !common.IsNullish(value) {
		return value.String()
	}
	return fallback
}

func randomNonce() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // never fails since Go 1.24
	return hex.EncodeToString(bytes[:])
}
