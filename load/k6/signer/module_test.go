package signer

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
)

type testVU struct {
	modules.VU
	runtime *sobek.Runtime
}

func (vu testVU) Runtime() *sobek.Runtime { return vu.runtime }

// newScript returns a runtime in which the exports of a new module are global functions.
func newScript(t *testing.T, module *Module) *sobek.Runtime {
	t.Helper()
	runtime := sobek.New()
	runtime.SetFieldNameMapper(common.FieldNameMapper{}) // as k6 does
	for name, value := range module.NewModuleInstance(testVU{runtime: runtime}).Exports().Named {
		if err := runtime.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return runtime
}

func evaluate(t *testing.T, runtime *sobek.Runtime, script string) string {
	t.Helper()
	value, err := runtime.RunString(script)
	if err != nil {
		t.Fatal(err)
	}
	return value.String()
}

func TestScriptSignsEveryVector(t *testing.T) {
	runtime := newScript(t, New())
	for _, one := range readVectors(t) {
		body := one.body(t)
		options := map[string]any{
			"keyId": one.KeyID, "method": one.Method, "uri": one.URI, "timestamp": one.TimestampMs, "nonce": one.Nonce,
			"scheme": one.Scheme, "body": runtime.NewArrayBuffer(body),
		}
		if utf8.Valid(body) {
			options["body"] = string(body)
		}
		if one.Kind == "hmac" {
			options["secret"] = one.Secret
		} else {
			options["privateKeyPem"] = one.PrivateKey
		}
		_ = runtime.Set("options", options)
		if header := evaluate(t, runtime, "sign(options)"); header != one.Header {
			t.Errorf("%s: header is %q, expected %q", one.ID, header, one.Header)
		}
	}
}

func TestScriptMayLeaveOutTimestampAndNonce(t *testing.T) {
	runtime := newScript(t, New())
	script := "sign({ keyId: 'k', secret: 's', body: '{}' })"
	first, second := evaluate(t, runtime, script), evaluate(t, runtime, script)
	form := regexp.MustCompile(`^svc-hmac-sha256 k;1;\d{13};[0-9a-f]{32};[A-Za-z0-9+/]{27}=$`)
	if !form.MatchString(first) || !form.MatchString(second) {
		t.Errorf("headers are %q and %q", first, second)
	}
	if strings.Split(first, ";")[3] == strings.Split(second, ";")[3] {
		t.Error("the same nonce was made twice")
	}
}

func TestScriptIsToldWhatIsMissing(t *testing.T) {
	runtime := newScript(t, New())
	for script, expected := range map[string]string{
		"sign()":                            "expected an object",
		"sign({ keyId: 'k', secret: 's' })": "without a body",
		"sign({ keyId: 'k', secret: 's', body: 3 })":                      "Cannot sign this body",
		"sign({ keyId: 'k', body: '' })":                                  "either secret or privateKeyPem",
		"sign({ keyId: 'k', body: '', secret: 's', privateKeyPem: 'p' })": "either secret or privateKeyPem",
		"sign({ keyId: 'k', body: '', privateKeyPem: 'p' })":              "expected PEM",
		"sign({ keyId: 'k', body: '', secret: 's', nonce: '' })":          "as nonce",
	} {
		_, err := runtime.RunString(script)
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v, expected an error with %q", script, err, expected)
		}
	}
}

func TestRefusalsAreCountedAcrossVUsAndBounded(t *testing.T) {
	module := New()
	first, second := newScript(t, module), newScript(t, module)
	evaluate(t, first, "countRefusal('hmac', 'often'); countRefusal('hmac', 'once')")
	evaluate(t, second, "countRefusal('hmac', 'often')")
	if all := evaluate(t, second, "JSON.stringify(listRefusals())"); all != `[{"call":"hmac","reason":"often","count":2},{"call":"hmac","reason":"once","count":1}]` {
		t.Errorf("refusals are %s", all)
	}
	reason := evaluate(t, first, "for (let i = 0; i < 500; i++) countRefusal('hmac', 'at ' + i); countRefusal('hmac', 'new')")
	if reason != "other reasons" {
		t.Errorf("reason number 503 is kept as %q", reason)
	}
	if count := evaluate(t, first, "listRefusals().length"); count != "51" {
		t.Errorf("%s reasons are kept, expected 50 and the others", count)
	}
	if length := evaluate(t, newScript(t, New()), "countRefusal('hmac', 'é'.repeat(500)).length"); length != "80" {
		t.Errorf("a reason of %s characters is kept", length)
	}
}
