/** Broken servers that a run or `explore` has not found, or not as a failure, and why; nothing else tells them from conforming ones. */
const reasons: readonly (readonly [why: string, ...ids: string[]])[] = [
  ['what `solution:*` beside the word for one solution means is not shown', 'solution-any-lost-next-to-solution-id'],
  [
    'found, but as a warning, because the sentence that shows it is only implied',
    'refreshed-access-token-outlives-removed-session',
    'text-behind-mac-ignored',
    'dot-for-slash-in-method-name-taken',
    'result-of-grant-to-created-key-tells-scope-of-key',
    'refused-eleventh-creation-sets-scope-of-last-key',
    'scope-refused-in-grant-is-added-to-key',
    'address-not-checked-when-refreshed-token-creates-key',
    'refused-creation-in-flight-rolls-back-accepted-ones',
    'public-key-as-list-of-lines-accepted',
  ],
  [
    'calls through sockets arrive too far apart; with calls in memory, the model finds them',
    'keys-counted-some-microtasks-before-creation',
    'sessions-counted-some-microtasks-before-creation',
  ],
  [
    'shows only by how many keys can be created, and refused creations before may count; with a fresh instance for each case it is a warning',
    'token-callers-make-eight-keys',
    'key-made-by-created-key-takes-two-places',
    'every-third-creation-made-twice',
  ],
  [
    'a run has too few keys of the kind, because it keeps the last places for its cases; `explore` creates more',
    'fifth-public-key-ends-the-first',
    'tenth-key-with-public-key-refused',
  ],
  ['whether a public key may be used twice is open', 'repeated-public-key-takes-no-place'],
  [
    'what a server does with ids beyond 53 bits is observed and not judged, because many JSON readers round them',
    'id-beyond-53-bits-rounded',
  ],
  ['two keys of eight places meet by chance', 'public-keys-filed-in-eight-places-by-their-id'],
  [
    'happens once for each user, so a run, which reports only what it sees again, says nothing; `explore` reports it',
    'seventeenth-overflow-removes-no-session',
  ],
  [
    'a run has no key of such a scope, because its places are taken by others',
    'key-with-nothing-but-apikey-scope-lists-solutions',
  ],
  [
    'a key that is refused everywhere after wrong calls may be locked, which is open',
    'unknown-method-hides-its-group-for-100-ms',
  ],
  [
    'the refusal contradicts every reading, so nothing is known about the sessions of that key afterwards, and it cannot be seen again; `explore` reports it',
    'sessions-in-flight-share-their-name',
  ],
  [
    'not seen with the few keys and places that a run has for the model; `explore` finds it',
    'whole-mac-taken-on-key-creation',
    'whole-mac-of-key-without-apikey-scope-accepted',
    'key-created-in-session-ends-with-it',
    'creation-with-repeated-id-answered-as-before',
    'initial-key-creates-no-keys-once-another-key-may',
    'five-keys-created',
    'keys-end-after-30-days',
  ],
  [
    'shows only if a full minute passes while the sessions are new, and is not seen again',
    'sessions-beyond-eight-removed-each-minute',
  ],
]

/** The reason by the id of the server. */
export const missed: ReadonlyMap<string, string> = new Map(
  reasons.flatMap(([why, ...ids]) => ids.map((id) => [id, why] as const)),
)
