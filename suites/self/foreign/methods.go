// manager/createApiKey and manager/auth (part 4).
package main

import (
	"crypto/ed25519"
	"crypto/subtle"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

func bad(reason string) *refusal { return &refusal{http.StatusBadRequest, reason} }

func (s *server) createKey(params map[string]json.RawMessage, r *http.Request, body []byte) (any, *refusal) {
	who, denied := s.authorize(r, body)
	if denied != nil && !(s.broken == "open-creation" && params["publicKey"] != nil) {
		return nil, denied
	}
	if denied == nil && !who.may("apikey") {
		return nil, &refusal{http.StatusForbidden, "needs apikey"}
	}
	var name *string
	var scope []string
	if json.Unmarshal(params["name"], &name) != nil || name == nil || json.Unmarshal(params["scope"], &scope) != nil || scope == nil {
		s.spent++
		return nil, bad("name and scope are required")
	}
	var public ed25519.PublicKey
	if raw, given := params["publicKey"]; given {
		var text string
		_ = json.Unmarshal(raw, &text)
		block, more := pem.Decode([]byte(text))
		if block == nil || block.Type != "PUBLIC KEY" || len(strings.TrimSpace(string(more))) > 0 {
			s.spent++
			return nil, bad("not a PEM public key")
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		ed, fits := parsed.(ed25519.PublicKey)
		if err != nil || !fits {
			s.spent++
			return nil, bad("not an ED25519 key")
		}
		public = ed
	}
	room := maxKeys
	if s.broken == "eleven-keys" {
		room++
	}
	if s.reads("initial-counts") {
		room--
	}
	count := len(s.order)
	if s.reads("refused-count") {
		count += s.spent
	}
	if s.broken == "key-race" {
		s.Unlock()
		time.Sleep(time.Millisecond)
		s.Lock()
	}
	if count >= room {
		if !s.reads("oldest-key-removed") {
			return nil, &refusal{http.StatusConflict, "too many keys"}
		}
		delete(s.keys, s.order[0])
		s.order = s.order[1:]
	}
	made := s.addKey(scope, public)
	if s.broken == "no-secret" && public != nil {
		return map[string]any{"id": made.id}, nil
	}
	return map[string]any{"id": made.id, "secret": made.secret, "name": name, "created": s.now() / 1000}, nil
}

func (s *server) auth(params map[string]json.RawMessage, r *http.Request) (any, *refusal) {
	word := func(name string) string {
		var text string
		_ = json.Unmarshal(params[name], &text)
		return text
	}
	switch word("grantType") {
	case "api_key_credentials":
		known := s.keys[word("apiKeyId")]
		if known == nil || known.public != nil {
			return nil, unauthorized
		}
		if subtle.ConstantTimeCompare([]byte(word("apiKeySecret")), []byte(known.secret)) != 1 {
			return nil, unauthorized
		}
		var asked []string
		if json.Unmarshal(params["scope"], &asked) != nil || asked == nil {
			return nil, bad("scope is required")
		}
		return s.grant(known, asked, r)
	case "refresh_token":
		old := s.readToken(word("refreshToken"), "refresh")
		if old == nil || s.now() >= old.refreshUntil || old.session != "" && s.sessionOf(old.user, old.session) == nil {
			return nil, unauthorized
		}
		if old.revoked {
			if s.reads("family-revoked") {
				for _, other := range s.pairs {
					other.revoked = other.revoked || other.user == old.user && other.session == old.session && other.session != ""
				}
			}
			return nil, unauthorized
		}
		old.revoked = !(s.broken == "session-pair-kept" && old.session != "") && !(s.broken == "expired-pair-kept" && s.now() > old.accessUntil)
		renewed := *old
		renewed.id, renewed.revoked, renewed.refreshes = uuid(), false, old.refreshes+1
		if s.broken == "address-lost" && renewed.refreshes > 1 {
			renewed.addresses = nil
		}
		renewed.lifeMs = accessMs
		return s.issue(&renewed), nil
	}
	return nil, bad("unknown grantType")
}

func (s *server) grant(known *apiKey, asked []string, r *http.Request) (any, *refusal) {
	p := &pair{id: uuid(), user: known.id, keyScope: known.scope, lifeMs: accessMs}
	if s.reads("one-user") {
		p.user = "everyone"
	}
	for _, one := range asked {
		kind, value, restricts := strings.Cut(one, ":")
		switch {
		case restricts && kind == "session":
			p.session = value
		case restricts && kind == "ipAddr":
			if net.ParseIP(value) == nil || s.reads("own-address-only") && value != s.caller(r) {
				return nil, bad("not an address")
			}
			p.addresses = append(p.addresses, value)
		case restricts && kind == "expiresIn":
			life, err := strconv.ParseInt(value, 10, 64)
			most := refreshMs
			if s.broken == "cap-far" {
				most = 3_000_000_000_000
			}
			if err != nil || life <= 0 || life > most && !s.reads("life-cut") {
				return nil, bad("not a lifetime")
			}
			p.lifeMs = min(life, most)
		case (caller{known.scope}).may(one):
			p.scope = append(p.scope, one)
		case !s.reads("excess-left-out") && s.broken != "widened-silently":
			return nil, &refusal{http.StatusForbidden, "beyond the key"}
		}
	}
	if s.broken == "widened-silently" {
		p.keyScope = asked
	}
	sort.Strings(p.scope)
	s.latest[p.user] = p.scope
	if p.session == "" && s.reads("every-grant-a-session") {
		p.session = "unnamed " + p.id
	}
	if p.session != "" {
		s.openSession(p.user, p.session)
	}
	return s.issue(p), nil
}

func (s *server) issue(p *pair) any {
	s.pairs[p.id] = p
	p.refreshUntil, p.accessUntil = s.now()+refreshMs, s.now()+p.lifeMs
	if !s.reads("milliseconds") {
		p.refreshUntil, p.accessUntil = p.refreshUntil/1000*1000, p.accessUntil/1000*1000
	}
	scope := p.scope
	if scope == nil {
		scope = []string{}
	}
	return map[string]any{
		"accessToken": s.token(p, "access", p.accessUntil), "accessTokenExpiry": p.accessUntil,
		"refreshToken": s.token(p, "refresh", p.refreshUntil), "refreshTokenExpiry": p.refreshUntil,
		"tokenType": "Bearer", "scope": scope, "issuedBy": "foreign",
	}
}
