// A server of the interface written from spec/interface.md alone, in another language and with other choices where the document
// is silent. It shares nothing with the reference server, so what the suite says of it can be held against the document.
//
// The first line on stdout is JSON: {"url","id","secret"} or, with the reading root-public-key, {"url","id","privateKey"}.
//
// -readings NAME,… answers what the document leaves open otherwise than this server usually does:
//
//	answers:  errors-empty, errors-in-200, zipped, no-date, no-keep-alive, idle-closed, throttled, unwell, behind-a-gateway
//	keys:     empty-secrets, initial-counts, refused-count, oldest-key-removed, lock-out, root-public-key
//	scopes:   excess-left-out, own-address-only, life-cut, life-kept, milliseconds
//	sessions: every-grant-a-session, session-replaced, least-recently-used, one-user, family-revoked
//	headers:  nonce-once, timestamp-as-number
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
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
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
	failures     map[string]int
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
)

var (
	accessMs  = flag.Int64("access", 45_000, "default lifetime of an access token in ms")
	refreshMs = flag.Int64("refresh", 90_000, "lifetime of a refresh token in ms")
	skewMs    = flag.Int64("skew", 0, "how far the clock is ahead in ms")
	delayMs   = flag.Int64("delay", 0, "time that every call takes in ms")
	existing  = flag.Int("existing", 0, "keys that were created before")
	rootScope = flag.String("root-scope", "apikey,solution,context,thread,store,inbox,stream,solution:*", "scopes of the initial key")
	readings  = flag.String("readings", "", "other answers to open questions, see the code")
	breakage  = flag.String("break", "", "one way of being wrong, see the code")
	listen    = flag.String("listen", "127.0.0.1:0", "address and port")
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
		failures: map[string]int{}, trusted: map[string]bool{}, latest: map[string][]string{}, readings: map[string]bool{}, signing: random(32), broken: *breakage,
	}
	for _, name := range strings.Split(*readings, ",") {
		s.readings[name] = true
	}
	told := map[string]any{}
	scope := strings.Split(*rootScope, ",")
	var root *apiKey
	if s.reads("root-public-key") {
		public, private, _ := ed25519.GenerateKey(rand.Reader)
		der, _ := x509.MarshalPKCS8PrivateKey(private)
		told["privateKey"] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		root = s.addKey(scope, public)
	} else {
		root = s.addKey(scope, nil)
		told["secret"] = root.secret
	}
	s.order = nil
	for n := 0; n < *existing; n++ {
		s.addKey([]string{"solution"}, nil)
	}
	open, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	told["url"], told["id"] = "http://"+open.Addr().String(), root.id
	_ = json.NewEncoder(os.Stdout).Encode(told)
	front := &http.Server{Handler: s}
	if s.reads("idle-closed") {
		front.IdleTimeout = 3 * time.Millisecond
	}
	front.SetKeepAlivesEnabled(!s.reads("no-keep-alive"))
	_ = front.Serve(open)
}
