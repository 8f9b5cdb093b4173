// Tokens of three parts like a JWT, known by their id, and the sessions of users.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"sort"
	"strings"
)

func (s *server) token(p *pair, use string, until int64) string {
	head := url64([]byte(`{"alg":"HS256","typ":"JWT"}`))
	claims, _ := json.Marshal(map[string]any{"jti": p.id, "use": use, "sub": p.user, "exp": until, "scp": p.scope})
	mac := hmac.New(sha256.New, s.signing)
	mac.Write([]byte(head + "." + url64(claims)))
	return head + "." + url64(claims) + "." + url64(mac.Sum(nil))
}

func (s *server) readToken(text, use string) *pair {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil
	}
	head, _ := base64.RawURLEncoding.DecodeString(parts[0])
	unsigned := s.broken == "alg-none" && strings.Contains(string(head), `"none"`)
	mac := hmac.New(sha256.New, s.signing)
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if !unsigned && subtle.ConstantTimeCompare([]byte(url64(mac.Sum(nil))), []byte(parts[2])) != 1 {
		return nil
	}
	var claims struct{ Jti, Use string }
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if json.Unmarshal(raw, &claims) != nil || claims.Use != use {
		return nil
	}
	return s.pairs[claims.Jti]
}

func (s *server) sessionOf(user, name string) *session {
	for _, one := range s.sessions[user] {
		if one.name == name {
			return one
		}
	}
	return nil
}

func (s *server) openSession(user, name string) {
	s.turns++
	if one := s.sessionOf(user, name); one != nil && !s.reads("session-replaced") {
		one.used = s.turns
		return
	}
	list := append(s.sessions[user], &session{name: name, rank: s.turns, used: s.turns})
	by := func(one *session) int64 { return one.rank }
	if s.reads("least-recently-used") {
		by = func(one *session) int64 { return one.used }
	}
	sort.SliceStable(list, func(i, j int) bool { return by(list[i]) < by(list[j]) })
	if len(list) > maxSessions {
		list = list[len(list)-maxSessions:]
	}
	s.sessions[user] = list
}
