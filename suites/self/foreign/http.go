// The envelope (part 1), and what this server does with what it refuses.
package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

type envelope struct {
	Jsonrpc string                     `json:"jsonrpc"`
	ID      json.Number                `json:"id"`
	Method  string                     `json:"method"`
	Params  map[string]json.RawMessage `json:"params"`
}

func (s *server) answer(r *http.Request, body []byte, call *envelope) (any, *refusal) {
	if r.URL.Path != "/api" {
		return nil, &refusal{http.StatusNotFound, "no such path"}
	}
	if r.Method != http.MethodPost {
		return nil, &refusal{http.StatusMethodNotAllowed, "POST only"}
	}
	if json.Unmarshal(body, call) != nil || call.Jsonrpc != "2.0" || call.ID == "" || call.Params == nil {
		return nil, bad("no JSON-RPC 2.0 request")
	}
	switch call.Method {
	case "manager/auth":
		return s.auth(call.Params, r)
	case "manager/createApiKey":
		return s.createKey(call.Params, r, body)
	case "solution/listSolutions":
		who, denied := s.authorize(r, body)
		if denied != nil {
			return nil, denied
		}
		if !who.may("solution") {
			return nil, &refusal{http.StatusForbidden, "needs solution"}
		}
		return map[string]any{"solutions": []any{}, "total": 0}, nil
	}
	return nil, &refusal{http.StatusNotFound, "no such method"}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<22))
	s.Lock()
	s.calls++
	unwell := s.reads("unwell") && s.calls%13 == 0
	call := &envelope{}
	var result any
	var denied *refusal
	if !unwell {
		result, denied = s.answer(r, body, call)
	}
	s.Unlock()
	w.Header().Set("Date", time.UnixMilli(s.now()).UTC().Format(http.TimeFormat))
	if s.reads("no-date") {
		w.Header()["Date"] = nil
	}
	switch {
	case unwell:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	case denied == nil:
		s.write(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result, "node": "go"})
	case s.reads("errors-empty"):
		w.WriteHeader(denied.status)
	case s.reads("errors-in-200"):
		s.write(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"message": denied.reason}})
	default:
		s.write(w, denied.status, map[string]any{"fault": denied.reason, "status": denied.status})
	}
}

func (s *server) write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	if s.reads("zipped") {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		zipped := gzip.NewWriter(w)
		_ = json.NewEncoder(zipped).Encode(value)
		_ = zipped.Close()
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
