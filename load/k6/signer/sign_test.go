package signer

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// vectorsFile holds the signature vectors of the repository, made with OpenSSL.
const vectorsFile = "../../../fixtures/vectors.json"

type vector struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Scheme      string `json:"scheme"`
	KeyID       string `json:"keyId"`
	Secret      string `json:"secret"`
	PrivateKey  string `json:"privateKey"`
	Method      string `json:"method"`
	URI         string `json:"uri"`
	BodyBase64  string `json:"bodyBase64"`
	TimestampMs int64  `json:"timestamp"`
	Nonce       string `json:"nonce"`
	Header      string `json:"header"`
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, one := range file.Vectors {
		kinds[one.Kind]++
	}
	if kinds["hmac"] == 0 || kinds["ecc"] == 0 {
		t.Fatalf("Cannot test with %v: expected vectors of both kinds", kinds)
	}
	return file.Vectors
}

func (v vector) body(t *testing.T) []byte {
	t.Helper()
	body, err := base64.StdEncoding.DecodeString(v.BodyBase64)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRefusesFieldsThatBreakTheHeader(t *testing.T) {
	for _, call := range []Call{{KeyID: "", Nonce: "n"}, {KeyID: "a;b", Nonce: "n"}, {KeyID: "a", Nonce: ""}, {KeyID: "a", Nonce: "n\n"}} {
		if header, err := call.HMACHeader("secret"); err == nil {
			t.Errorf("signed %+v as %q", call, header)
		}
	}
}

func TestReadsOnlyED25519Keys(t *testing.T) {
	p256 := `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBlSmVomwlRCRgM12
XR4ITfcNCY8DTVg5NVqrpNC/4MGhRANCAARjnvhzPelrC9+4Ya37dswLh6wv7GNX
1sLLgVr6uSkuxuimidrIkaMHvM6D2ODXdncTW+dy7rRyELf0/S7IYwCV
-----END PRIVATE KEY-----
`
	for text, expected := range map[string]string{
		"secret words":                     "expected PEM",
		strings.ReplaceAll(p256, "M", "A"): "no PKCS#8 key",
		p256:                               "expected an ED25519 key",
	} {
		_, err := ParsePrivateKey(text)
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("read %.30q with %v, expected an error with %q", text, err, expected)
		}
		if err != nil && strings.Contains(err.Error(), "secret words") {
			t.Error("the error shows the text of the key")
		}
	}
}
