// A server of the interface written from spec/interface.md alone, in another language and with other choices where the document
// is silent. It shares nothing with the reference server, so what the suite says of it can be held against the document.
//
// The first line on stdout is JSON: {"url","id","secret"}.
//
// -readings NAME,… answers what the document leaves open otherwise than this server usually does:
//
//	answers:  errors-empty, errors-in-200, zipped, no-date, unwell, behind-a-gateway
//	keys:     empty-secrets, initial-counts, refused-count, oldest-key-removed
//	scopes:   excess-left-out, own-address-only, life-cut, milliseconds
//	sessions: every-grant-a-session, session-replaced, least-recently-used, one-user, family-revoked
//	headers:  nonce-once
//
// -break NAME makes it wrong in one way:
//
//	eleven-keys, key-race, open-creation, no-secret            keys
//	first-chunk, trusted-header                                signatures
//	alg-none, cap-far, scope-shared, widened-silently          tokens
//	address-lost, expired-pair-kept, session-pair-kept         refreshes
//	session-cached                                             sessions
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type apiKey struct {
	id, secret string
	scope      []string
	public     ed25519.PublicKey
}

type pair struct {
	id, user, session          string
	keyScope, scope, addresses []string
	lifeMs                     int64
	accessUntil, refreshUntil  int64
	revoked                    bool
	refreshes                  int
}

type session struct {
	name       string
	rank, used int64
}

// refusal is an answer that is no result: an HTTP status of the 4xx and a reason.
type refusal struct {
	status int
	reason string
}

type server struct {
	sync.Mutex
	keys         map[string]*apiKey
	order        []string
	spent        int
	pairs        map[string]*pair
	sessions     map[string][]*session
	nonces       map[string]bool
	trusted      map[string]bool
	signing      []byte
	calls, turns int64
	readings     map[string]bool
	broken       string
	latest       map[string][]string
}

const (
	maxKeys     = 10
	maxSessions = 16
	windowMs    = 60_000
	accessMs    = int64(45_000)
	refreshMs   = int64(90_000)
)

var (
	skewMs   = flag.Int64("skew", 0, "how far the clock is ahead in ms")
	readings = flag.String("readings", "", "other answers to open questions, see the code")
	breakage = flag.String("break", "", "one way of being wrong, see the code")
)

func (s *server) reads(name string) bool { return s.readings[name] }

func (s *server) now() int64 { return time.Now().UnixMilli() + *skewMs }

func random(bytes int) []byte {
	made := make([]byte, bytes)
	if _, err := rand.Read(made); err != nil {
		panic(err)
	}
	return made
}

func uuid() string {
	b := random(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func url64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (s *server) addKey(scope []string, public ed25519.PublicKey) *apiKey {
	made := &apiKey{id: uuid(), secret: "sk." + url64(random(30)), scope: scope, public: public}
	if public != nil && s.reads("empty-secrets") {
		made.secret = ""
	}
	s.keys[made.id] = made
	s.order = append(s.order, made.id)
	return made
}

func main() {
	flag.Parse()
	s := &server{
		keys: map[string]*apiKey{}, pairs: map[string]*pair{}, sessions: map[string][]*session{}, nonces: map[string]bool{},
		trusted: map[string]bool{}, latest: map[string][]string{}, readings: map[string]bool{}, signing: random(32), broken: *breakage,
	}
	for _, name := range strings.Split(*readings, ",") {
		s.readings[name] = true
	}
	root := s.addKey(strings.Split("apikey,solution,context,thread,store,inbox,stream,solution:*", ","), nil)
	s.order = nil
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"url": "http://" + open.Addr().String(), "id": root.id, "secret": root.secret})
	_ = http.Serve(open, s)
}
