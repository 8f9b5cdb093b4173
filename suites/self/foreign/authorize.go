// The three ways to authorize a call (part 5).
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type caller struct{ scope []string }

func (c caller) may(area string) bool {
	return slices.ContainsFunc(c.scope, func(one string) bool { return strings.EqualFold(one, area) })
}

var unauthorized = &refusal{http.StatusUnauthorized, "unauthorized"}

func (s *server) authorize(r *http.Request, body []byte) (caller, *refusal) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "bearer"):
		return s.byToken(strings.TrimSpace(rest), r)
	case scheme == "Basic":
		raw, err := base64.StdEncoding.Strict().DecodeString(rest)
		id, secret, found := strings.Cut(string(raw), ":")
		known := s.keys[id]
		if err != nil || !found || known == nil || known.public != nil {
			return caller{}, unauthorized
		}
		if subtle.ConstantTimeCompare([]byte(secret), []byte(known.secret)) != 1 {
			return caller{}, unauthorized
		}
		return caller{known.scope}, nil
	case scheme == "svc-hmac-sha256":
		return s.bySignature(rest, r, body)
	}
	return caller{}, unauthorized
}

var digits = regexp.MustCompile(`^[0-9]{13}$`)

func (s *server) bySignature(rest string, r *http.Request, body []byte) (caller, *refusal) {
	fields := strings.Split(rest, ";")
	if s.broken == "trusted-header" && s.trusted[rest] {
		return caller{s.keys[fields[0]].scope}, nil
	}
	if len(fields) != 5 || fields[1] != "1" {
		return caller{}, unauthorized
	}
	known, stamp, nonce := s.keys[fields[0]], fields[2], fields[3]
	sent, err := strconv.ParseInt(stamp, 10, 64)
	signature, encoding := base64.StdEncoding.Strict().DecodeString(fields[4])
	if known == nil || err != nil || !digits.MatchString(stamp) || encoding != nil || nonce == "" {
		return caller{}, unauthorized
	}
	if off := sent - s.now(); off > windowMs || off < -windowMs {
		return caller{}, unauthorized
	}
	if s.broken == "first-chunk" && len(body) > 4096 {
		body = body[:4096]
	}
	data := []byte(stamp + ";" + nonce + ";" + strings.ToUpper(r.Method) + "\n/api\n" + string(body) + "\n")
	if known.public != nil {
		if len(signature) != ed25519.SignatureSize || !ed25519.Verify(known.public, data, signature) {
			return caller{}, unauthorized
		}
	} else {
		mac := hmac.New(sha256.New, []byte(known.secret))
		mac.Write(data)
		if subtle.ConstantTimeCompare(mac.Sum(nil)[:20], signature) != 1 {
			return caller{}, unauthorized
		}
	}
	if s.reads("nonce-once") && s.nonces[nonce] {
		return caller{}, unauthorized
	}
	s.nonces[nonce], s.trusted[rest] = true, true
	return caller{known.scope}, nil
}

func (s *server) byToken(text string, r *http.Request) (caller, *refusal) {
	p := s.readToken(text, "access")
	if p == nil || p.revoked || s.now() >= p.accessUntil {
		return caller{}, unauthorized
	}
	if p.session != "" {
		one := s.sessionOf(p.user, p.session)
		if one == nil && !(s.broken == "session-cached" && s.trusted[text]) {
			return caller{}, unauthorized
		}
		if one != nil {
			s.turns++
			one.used, s.trusted[text] = s.turns, true
		}
	}
	if len(p.addresses) > 0 && !slices.Contains(p.addresses, s.caller(r)) {
		return caller{}, &refusal{http.StatusForbidden, "another address"}
	}
	if s.broken == "scope-shared" {
		return caller{s.latest[p.user]}, nil
	}
	if s.broken == "widened-silently" {
		return caller{append(p.keyScope, p.scope...)}, nil
	}
	return caller{p.scope}, nil
}

// caller is the address that the server sees; behind a gateway that is not the one the caller knows.
func (s *server) caller(r *http.Request) string {
	if s.reads("behind-a-gateway") {
		return "172.31.255.1"
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}
