import { readFileSync } from 'node:fs'
import { type Check, check, demandFields, type Fields, oneOf, optional, wholeNumber } from './checks.ts'

const minute = 60_000
const day = 24 * 60 * minute

/**
 * The choices where the document is silent, the default first. Each switch answers one open question of spec/open-questions.yaml; a client
 * can be tried against every reading of it. The defaults follow a deployed implementation. Switches with a number or a word accept other
 * values too.
 */
export const profileChoices = {
  /** The path before `/api`, such as `/service/v1`; empty: none. The signed URI stays `/api`. */
  basePath: ['', '/service/v1'],
  /** The scheme word of signatures. */
  scheme: ['svc-hmac-sha256', 'x-svc-hmac'],
  /** The word before an access token; empty: the token alone. */
  tokenPrefix: ['Bearer', 'Token', ''],
  /** Whether scheme words are compared as written. */
  schemeCase: ['sensitive', 'any'],

  /** Whether another jsonrpc than 2.0, and params that are an array, null or missing, are refused. */
  strictEnvelope: [true, false],
  /** Which ids are accepted besides integers. */
  idTypes: ['strings-and-numbers', 'integers', 'any'],
  /** A request without id. */
  notifications: ['refused', 'answered', 'no-body'],
  /** An array of requests. */
  batch: ['refused', 'answered'],
  /** Content types other than application/json. */
  contentType: ['ignored', 'json-only'],
  /** Members other than jsonrpc, id, method and params. */
  extraMembers: ['ignored', 'refused'],
  /** Whether an unknown method is reported before authorization is checked. */
  methodCheckedFirst: [true, false],
  /** Params that a method does not know. */
  extraParams: ['refused', 'ignored'],
  /** Adds members that the document does not name to every result. */
  extraResultMembers: [false, true],
  /** The result of solution/listSolutions. */
  listShape: ['list', 'solutions', 'counted'],

  /** `http`: 400, 401, 403 or 404. */
  refusalStatus: ['ok', 'http'],
  /** Anything but `json-rpc` also sets the HTTP status. */
  errorBody: ['json-rpc', 'text', 'none'],
  /** The id of an error answer. */
  errorId: ['request', 'null', 'none'],

  /** How far a timestamp may be off, in ms. */
  timeWindowMs: [10 * minute, 30_000, day],
  nonceMaxLength: [128, 64, 1024],
  nonceReuse: ['refused', 'accepted'],
  nonceBurntByBadSignature: [true, false],
  /** The sample of the document: header nonce without trailing `=`, signed nonce with it. */
  noncePadding: ['refused', 'accepted'],
  unpaddedSignatures: ['refused', 'accepted'],

  /** Public keys of small order or in a non-canonical encoding. */
  weakPublicKeys: ['refused', 'accepted'],
  /** A key with more scope than its creator has: the key that signed, or the token. */
  keyScopeAboveCreator: ['kept', 'refused'],
  /** A public key that another live key has. */
  repeatedPublicKeys: ['accepted', 'refused'],
  /** Unknown scope words in a key's scope; the words of part 5.4 that no example of part 2 shows may count as unknown. */
  unknownKeyScopes: ['kept', 'refused', 'all-but-shown-refused'],
  /** Whether the initial key counts towards the ten. */
  initialKeyCounts: [false, true],
  /** `oldest-removed` departs from two implied requirements (`limits/eleventh-refused`, `limits/earlier-keys-kept`): the suite warns of it. */
  eleventhKey: ['refused', 'oldest-removed'],

  scopeCase: ['sensitive', 'any'],
  /** Which spelling opens manager/createApiKey. */
  apikeySpelling: ['both', 'apikey', 'apiKey'],
  unknownScopes: ['refused', 'left-out'],
  emptyScope: ['nothing', 'whole-key', 'refused'],
  scopeEcho: ['without-restrictions', 'as-requested', 'sorted'],
  /** Whether a key with solution:* grants solution:ID. */
  solutionIdFromAny: [true, false],

  /** An Authorization header on manager/auth. */
  authHeaderOnGrant: ['ignored', 'judged', 'refused'],
  scopeOnRefresh: ['refused', 'ignored', 'narrows'],
  accessLifeMs: [15 * minute, 30_000, day],
  refreshLifeMs: [7 * day, minute, 365 * day],
  /** Characters of a token. */
  tokenLength: [43, 400],
  expiresInTooLong: ['refused', 'capped'],
  expiryRounding: ['none', 'up-to-second'],
  /** Whether expiresIn applies to the refreshed access token too. */
  expiresInKept: [true, false],
  reuseRevokesFamily: [false, true],
  refreshChecksAddress: [false, true],
  /** `kept`: the new refresh token ends when the old one would have. */
  refreshLifetime: ['new', 'kept'],

  unnamedCountAsSessions: [false, true],
  reusedSessionName: ['replaces', 'adds', 'joins'],
  sessionUser: ['one-key', 'all-keys'],
  oldestSession: ['first-created', 'longest-unused'],

  /** Whether X-Forwarded-For counts as the caller's address. */
  trustProxy: [false, true],
  /** Calls a second, measured on the server's clock; 0: no limit. Above it: 429 with Retry-After. */
  callsPerSecond: [0, 20],
  maxBodyBytes: [1024 * 1024, 16 * 1024],
  /** Each call takes this long; a frozen clock is moved instead. */
  delayMs: [0, 80],
  /** How far the server's clock is ahead of the clock it was given. */
  clockOffsetMs: [0, 5 * minute, -5 * minute],
  /** Every connection is closed after its answer. */
  closeConnections: [false, true],
} as const satisfies { readonly [name: string]: readonly [unknown, ...unknown[]] }

type Choices = typeof profileChoices
type Word = 'basePath' | 'scheme' | 'tokenPrefix'
type Setting<S extends keyof Choices> = S extends Word
  ? string
  : Choices[S][number] extends number
    ? number
    : Choices[S][number]

/** A setting for every switch. Plain JSON: settable in a file. */
export type Profile = { -readonly [S in keyof Choices]: Setting<S> }

const entries: [keyof Choices, readonly unknown[]][] = Object.entries(profileChoices) as never

export const defaultProfile = Object.fromEntries(entries.map(([name, choices]) => [name, choices[0]])) as Profile

/** The default profile with some switches set otherwise. */
export function createProfile(switches: Partial<Profile> = {}): Profile {
  return { ...defaultProfile, ...switches }
}

const path = check('a path that begins and does not end with "/"', (value) => /^(\/[\w.~-]+)*$/.test(String(value)))
const isWord = (value: unknown): boolean => typeof value === 'string' && /^[\w.~+/-]*$/.test(value)

/** The switches that are checked by more than their choices. */
const ownChecks: { readonly [name: string]: Check<unknown> } = {
  basePath: path,
  scheme: check('one word', (value) => isWord(value) && value !== ''),
  tokenPrefix: check('one word', isWord),
  clockOffsetMs: wholeNumber(Number.MIN_SAFE_INTEGER),
}

const switches: Fields = Object.fromEntries(
  entries.map(([name, choices]) => {
    const usual = typeof choices[0] === 'number' ? wholeNumber(0) : oneOf(choices)
    return [name, optional(ownChecks[name] ?? usual)]
  }),
)

/** Checks a profile from outside, such as the JSON of a file. Throws a TypeError that names the switch and its values. */
export function readProfile(value: unknown): Partial<Profile> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('Write a profile as one JSON object of switches')
  }
  demandFields('switch', value, switches, { list: 'spec/open-questions.yaml names the switches' })
  return value
}

/** A profile with every switch set at random; the same `chance` (numbers from 0 to 1) gives the same profile. */
export function randomProfile(chance: () => number): Profile {
  const pick = (choices: readonly unknown[]): unknown => choices[Math.floor(chance() * choices.length)] ?? choices[0]
  return Object.fromEntries(entries.map(([name, choices]) => [name, pick(choices)])) as Profile
}

/**
 * The profile that words of a command line name, later words over earlier ones: `random`, `switch=value`, or the path of a JSON file.
 * Throws a TypeError that quotes the words of the user.
 */
export function profileFromWords(words: readonly string[], chance: () => number): Partial<Profile> {
  let profile: Partial<Profile> = {}
  for (const word of words) {
    const set = /^([A-Za-z]+)=(.*)$/.exec(word)
    if (word === 'random') profile = { ...profile, ...randomProfile(chance) }
    else if (set) profile = { ...profile, ...readProfile(settingOf(set[1] ?? '', set[2] ?? '')) }
    else profile = { ...profile, ...readFile(word) }
  }
  return profile
}

function settingOf(name: string, text: string): object {
  const isText = typeof profileChoices[name as keyof Profile]?.[0] === 'string'
  return { [name]: !isText && /^(true|false|-?[0-9]+)$/.test(text) ? JSON.parse(text) : text }
}

function readFile(path: string): Partial<Profile> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new TypeError(`Cannot read the profile "${path}": give "random", "switch=value" or the path of a JSON file`)
  }
  try {
    return readProfile(JSON.parse(text))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error)
    throw new TypeError(`Cannot use the profile "${path}": ${why}`)
  }
}

/** Upper bounds of everything a caller can make the server remember. */
export const defaultBounds = {
  nonces: 200_000,
  /** Access and refresh tokens together. */
  tokens: 200_000,
  /** Records of keys, deleted ones included. */
  keys: 10_000,
  /** Solutions, and contexts. */
  records: 10_000,
  headerBytes: 16 * 1024,
  connections: 10_000,
  /** From the first byte to the end of a request, in ms. */
  requestMs: 30_000,
}

export type Bounds = typeof defaultBounds
