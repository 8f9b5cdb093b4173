import type { Fault, Profile } from '../targets/bundled.ts'
import { clientAuths } from './journal.ts'

type ClientAuth = (typeof clientAuths)[number]

/** One situation in which a client is watched: its task, and the behaviour of its server. */
export interface Scenario {
  /** `NAME/AUTH`: unique. */
  id: string
  auth: ClientAuth
  /** What happens, in the present tense. */
  about: string
  /** The check to which `ok` lines without an accepted call belong, and a client that does not end. */
  check: string
  /** The other checks that this scenario is made for; checks of every request are not listed. */
  exercises: readonly string[]
  scope: readonly string[]
  method: string
  calls: number
  parallel: number
  pauseMs: number
  /** How often the client is started, one start after the other. */
  starts: 1 | 2
  /** How the server departs from a lenient one. */
  profile: Partial<Profile>
  faults: readonly Fault[]
}

/** A placeholder for the other origin in a redirect; its port is known only when it listens. */
export const elsewhere = 'http://elsewhere.invalid'

const listSolutions = 'solution/listSolutions'
const createApiKey = 'manager/createApiKey'
const grant = { method: 'manager/auth', grantType: 'api_key_credentials' } as const
const refresh = { method: 'manager/auth', grantType: 'refresh_token' } as const
/** The calls that the client makes; each fault applies once to the call at its place. */
const call = (place: number) => ({ method: listSolutions, skip: place - 1 })

/** More than the server's tolerance for timestamps. */
const skewMs = 20 * 60_000

function scenario(
  name: string,
  auth: ClientAuth,
  parts: Partial<Scenario> & Pick<Scenario, 'about' | 'check'>,
): Scenario {
  return {
    id: `${name}/${auth}`,
    auth,
    exercises: [],
    scope: ['solution'],
    method: listSolutions,
    calls: 4,
    parallel: 1,
    pauseMs: 30,
    starts: 1,
    profile: {},
    faults: [],
    ...parts,
  }
}

/** What is tried with every way to authorize: one entry for each scenario, however many there are. */
function ofAuth(auth: ClientAuth): Scenario[] {
  return [
    scenario('throttled', auth, {
      about: 'One call is answered with 429 and Retry-After: 1, a later one with 503 and Retry-After: 1',
      check: 'retry/after-is-kept',
      pauseMs: 50,
      faults: [
        { fault: 'throttle', retryAfterSeconds: 1, ...call(2) },
        { fault: 'unavailable', retryAfterSeconds: 1, ...call(4) },
      ],
    }),
    scenario('plain', auth, {
      about: 'Nothing goes wrong; the client is started twice against one server',
      check: 'request/envelope',
      exercises: ['limits/keys-and-sessions-reused', ...(auth === 'token' ? ofGrants : [])],
      scope:
        auth === 'token' ? ['solution', 'expiresIn:60000', 'ipAddr:127.0.0.1', 'session:svc-client'] : ['solution'],
      calls: 8,
      parallel: 2,
      pauseMs: 10,
      starts: 2,
    }),
    scenario('error-in-200', auth, {
      about: 'Two calls are answered with a JSON-RPC error in an HTTP 200',
      check: 'answers/error-in-200',
      faults: [{ fault: 'refuse', as: 'denied', ...call(2), times: 2 }],
    }),
    scenario('foreign-id', auth, {
      about: 'Two calls are answered with a result under another id',
      check: 'answers/foreign-id-rejected',
      faults: [{ fault: 'wrong-id', ...call(2), times: 2 }],
    }),
    scenario('malformed', auth, {
      about: 'Two calls are answered with JSON that ends too early',
      check: 'answers/malformed-survived',
      faults: [{ fault: 'malformed', ...call(2), times: 2 }],
    }),
    scenario('create-key', auth, {
      about: 'A key is created, and the answer is lost',
      check: 'retry/create-key-not-repeated',
      scope: ['apikey'],
      method: createApiKey,
      calls: 1,
      faults: [{ fault: 'drop', when: 'after', method: createApiKey }],
    }),
    scenario('redirect', auth, {
      about: 'One call is redirected to another origin with 307, a later one with 302',
      check: 'secrets/not-after-redirect',
      faults: [redirect(307, call(2)), redirect(302, call(4))],
    }),
  ]
}

const ofGrants = [
  'grants/no-authorization',
  'grants/params',
  'scopes/lifetime',
  'scopes/address-and-session',
  'scopes/least',
]

function redirect(status: 302 | 307, which: Pick<Fault, 'method' | 'grantType' | 'skip'>): Fault {
  return { fault: 'redirect', status, location: `${elsewhere}/api`, ...which }
}

function ofSignatures(auth: 'hmac' | 'ecc'): Scenario[] {
  return [
    scenario('dropped', auth, {
      about: 'One call is dropped before it has an effect, a later one after it',
      check: 'retry/signed-anew',
      exercises: ['nonce/unique'],
      calls: 6,
      faults: [
        { fault: 'drop', when: 'before', ...call(2) },
        { fault: 'drop', when: 'after', ...call(4) },
      ],
    }),
    scenario('skew', auth, {
      about: `The clock of the server is 20 minutes ${auth === 'hmac' ? 'ahead' : 'behind'}, as its Date header shows`,
      check: 'clock/skew-survived',
      profile: { clockOffsetMs: auth === 'hmac' ? skewMs : -skewMs },
    }),
  ]
}

/** Tokens expire while calls go on, so that the client renews them. */
const renewing = (name: string, parts: Parameters<typeof scenario>[2]): Scenario =>
  scenario(name, 'token', { profile: { accessLifeMs: 900 }, pauseMs: 250, ...parts })

const lostRefreshes = {
  lost: { about: 'The answer of a refresh is lost after its effect', fault: { fault: 'drop', when: 'after' } },
  malformed: { about: 'A refresh is answered with JSON that ends too early', fault: { fault: 'malformed' } },
  'foreign-id': { about: 'A refresh is answered under another id', fault: { fault: 'wrong-id' } },
} as const

const ofTokens: readonly Scenario[] = [
  renewing('expiry', {
    about: 'Access tokens live for a second, and calls go on for three',
    check: 'refresh/newest-used',
    exercises: [
      'refresh/no-scope',
      'refresh/old-pair-gone',
      'refresh/not-a-new-grant',
      'refresh/no-expired-token-sent',
      'secrets/refresh-token-only-to-auth',
    ],
    profile: { accessLifeMs: 1000 },
    calls: 10,
    pauseMs: 300,
  }),
  renewing('restart', {
    about: 'The client refreshes, ends, and is started again against the same server',
    check: 'refresh/newest-used',
    exercises: ['refresh/old-pair-gone', 'limits/keys-and-sessions-reused'],
    calls: 6,
    starts: 2,
  }),
  renewing('redirect-auth', {
    about: 'The first grant and the first refresh are redirected to another origin',
    check: 'secrets/not-after-redirect',
    calls: 7,
    faults: [redirect(307, grant), redirect(307, refresh)],
  }),
  renewing('throttled-auth', {
    about: 'The first grant is answered with 429, the first refresh with 503; both name a second to wait',
    check: 'retry/after-is-kept',
    calls: 7,
    pauseMs: 200,
    faults: [
      { fault: 'throttle', retryAfterSeconds: 1, ...grant },
      { fault: 'unavailable', retryAfterSeconds: 1, ...refresh },
    ],
  }),
  renewing('workers', {
    about: 'Four workers share tokens that live for 0.9 seconds, and a refresh takes a while',
    check: 'refresh/single-flight',
    exercises: ['refresh/old-pair-gone', 'refresh/newest-used'],
    calls: 72,
    parallel: 4,
    pauseMs: 120,
    faults: [{ fault: 'delay', ms: 150, ...refresh, times: null }],
  }),
  renewing('late-refusal', {
    about: 'One call of two workers is held back until the other worker has refreshed, and is refused then',
    check: 'refresh/late-loser-keeps-the-newer-pair',
    profile: { accessLifeMs: 2000 },
    calls: 44,
    parallel: 2,
    pauseMs: 150,
    // Long enough for a refresh after the expiry, and so short that its pair is still valid when the call comes late.
    faults: [{ fault: 'delay', ms: 2600, ...call(2) }],
  }),
  ...(['lost', 'malformed', 'foreign-id'] as const).map((what) =>
    renewing(`${what}-refresh`, {
      about: lostRefreshes[what].about,
      check: 'refresh/lost-answer',
      calls: 8,
      faults: [{ ...lostRefreshes[what].fault, ...refresh }],
    }),
  ),
  renewing('refused-refresh', {
    about: 'Every refresh is refused',
    check: 'refresh/no-loop-after-refusal',
    profile: { accessLifeMs: 800 },
    calls: 8,
    faults: [{ fault: 'refuse', ...refresh, times: null }],
  }),
  scenario('refused-calls', 'token', {
    about: 'Every call is refused, though its token is good',
    check: 'refresh/no-loop-after-refusal',
    // A refresh for each call would be too many.
    calls: 6,
    faults: [{ fault: 'refuse', method: listSolutions, times: null }],
  }),
  scenario('narrowed', 'token', {
    about: 'The grant leaves out the scope that the calls need',
    check: 'scopes/granted-is-read',
    scope: ['solution', 'context'],
    calls: 6,
    faults: [{ fault: 'narrow-grant', scope: ['context'], method: 'manager/auth', times: null }],
  }),
  scenario('shortened', 'token', {
    about: 'Tokens live for 0.8 seconds, although a minute was requested',
    check: 'scopes/granted-is-read',
    scope: ['solution', 'expiresIn:60000'],
    calls: 9,
    pauseMs: 250,
    faults: [{ fault: 'shorten-lifetime', ms: 800, method: 'manager/auth', times: null }],
  }),
]

/** Every scenario, long ones first: they run at the same time, and the long ones decide the total duration. */
export const scenarios: readonly Scenario[] = [
  ...ofTokens,
  ...clientAuths.flatMap(ofAuth),
  ...ofSignatures('hmac'),
  ...ofSignatures('ecc'),
].sort((one, other) => lengthMs(other) - lengthMs(one))

/** About how long a scenario takes: pauses, times to wait, calls that are held back. */
function lengthMs({ calls, parallel, pauseMs, starts, faults }: Scenario): number {
  const waits = faults.map((fault) => ('retryAfterSeconds' in fault ? fault.retryAfterSeconds * 1000 : 0))
  return starts * Math.ceil(calls / parallel) * pauseMs + waits.reduce((sum, ms) => sum + ms, 0)
}
