package signer

import (
	"sort"
	"strings"
	"sync"
)

// maxReasons bounds the distinct reasons that are kept: a server may put ids or times into its messages.
const maxReasons = 50

// maxReasonLength is in characters.
const maxReasonLength = 80

const otherReasons = "other reasons"

// Refusal is how often one kind of call was refused for one reason.
type Refusal struct {
	Call   string
	Reason string
	Count  int64
}

type refusalKey struct{ call, reason string }

// refusals counts for the whole process: a k6 VU shares no memory with another one, and the end-of-test summary sees no tags.
type refusals struct {
	mutex  sync.Mutex
	counts map[refusalKey]int64
}

func newRefusals() *refusals {
	return &refusals{counts: map[refusalKey]int64{}}
}

// add counts one refusal and returns the reason under which it was counted, fit for a metric tag.
func (r *refusals) add(call, reason string) string {
	reason = shorten(reason)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	key := refusalKey{call, reason}
	if _, known := r.counts[key]; !known && len(r.counts) >= maxReasons {
		key.reason = otherReasons
	}
	r.counts[key]++
	return key.reason
}

// list returns all refusals, the most frequent first.
func (r *refusals) list() []Refusal {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	all := make([]Refusal, 0, len(r.counts))
	for key, count := range r.counts {
		all = append(all, Refusal{key.call, key.reason, count})
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.Count != b.Count {
			return a.Count > b.Count
		}
		return a.Call+" "+a.Reason < b.Call+" "+b.Reason
	})
	return all
}

func shorten(reason string) string {
	characters := []rune(strings.ToValidUTF8(reason, "?"))
	if len(characters) <= maxReasonLength {
		return string(characters)
	}
	return string(characters[:maxReasonLength-1]) + "…"
}
