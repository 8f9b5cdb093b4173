import { readFileSync } from 'node:fs'

/**
 * The choices where the document is silent. Each switch answers one open question of spec/open-questions.yaml; a client can be
 * tried against every reading of it. The defaults follow a deployed implementation. Plain JSON: settable in a file.
 */
export interface Profile {
  /** The path before `/api`, such as `/service/v1`; empty: none. The signed URI stays `/api`. */
  basePath: string
  /** The scheme word of signatures. */
  scheme: string
  /** The word before an access token; empty: the token alone. */
  tokenPrefix: string
  /** Whether scheme words are compared as written. */
  schemeCase: 'sensitive' | 'any'

  /** Whether another jsonrpc than 2.0, and params that are an array, null or missing, are refused. */
  strictEnvelope: boolean
  /** Which ids are accepted besides integers. */
  idTypes: 'strings-and-numbers' | 'integers' | 'any'
  /** A request without id. */
  notifications: 'refused' | 'answered' | 'no-body'
  /** An array of requests. */
  batch: 'refused' | 'answered'
  /** Content types other than application/json. */
  contentType: 'ignored' | 'json-only'
  /** Members other than jsonrpc, id, method and params. */
  extraMembers: 'ignored' | 'refused'
  /** Whether an unknown method is reported before authorization is checked. */
  methodCheckedFirst: boolean
  /** Params that a method does not know. */
  extraParams: 'refused' | 'ignored'
  /** Adds members that the document does not name to every result. */
  extraResultMembers: boolean
  /** The result of solution/listSolutions. */
  listShape: 'list' | 'solutions' | 'counted'

  /** `http`: 400, 401, 403 or 404. */
  refusalStatus: 'ok' | 'http'
  /** Anything but `json-rpc` also sets the HTTP status. */
  errorBody: 'json-rpc' | 'text' | 'none'
  /** The id of an error answer. */
  errorId: 'request' | 'null' | 'none'

  /** How far a timestamp may be off, in ms. */
  timeWindowMs: number
  nonceMaxLength: number
  nonceReuse: 'refused' | 'accepted'
  nonceBurntByBadSignature: boolean
  /** The sample of the document: header nonce without trailing `=`, signed nonce with it. */
  noncePadding: 'refused' | 'accepted'
  unpaddedSignatures: 'refused' | 'accepted'

  /** Public keys of small order or in a non-canonical encoding. */
  weakPublicKeys: 'refused' | 'accepted'
  /** A key with more scope than its creator has: the key that signed, or the token. */
  keyScopeAboveCreator: 'kept' | 'refused'
  /** A public key that another live key has. */
  repeatedPublicKeys: 'accepted' | 'refused'
  /** Unknown scope words in a key's scope; the words of part 5.4 that no example of part 2 shows may count as unknown. */
  unknownKeyScopes: 'kept' | 'refused' | 'all-but-shown-refused'
  /** Whether the initial key counts towards the ten. */
  initialKeyCounts: boolean
  /** `oldest-removed` departs from two implied requirements (`limits/eleventh-refused`, `limits/earlier-keys-kept`): the suite warns of it. */
  eleventhKey: 'refused' | 'oldest-removed'

  scopeCase: 'sensitive' | 'any'
  /** Which spelling opens manager/createApiKey. */
  apikeySpelling: 'both' | 'apikey' | 'apiKey'
  unknownScopes: 'refused' | 'left-out'
  emptyScope: 'nothing' | 'whole-key' | 'refused'
  scopeEcho: 'without-restrictions' | 'as-requested' | 'sorted'
  /** Whether a key with solution:* grants solution:ID. */
  solutionIdFromAny: boolean

  /** An Authorization header on manager/auth. */
  authHeaderOnGrant: 'ignored' | 'judged' | 'refused'
  scopeOnRefresh: 'refused' | 'ignored' | 'narrows'
  accessLifeMs: number
  refreshLifeMs: number
  /** Characters of a token. */
  tokenLength: number
  expiresInTooLong: 'refused' | 'capped'
  expiryRounding: 'none' | 'up-to-second'
  /** Whether expiresIn applies to the refreshed access token too. */
  expiresInKept: boolean
  reuseRevokesFamily: boolean
  refreshChecksAddress: boolean
  /** `kept`: the new refresh token ends when the old one would have. */
  refreshLifetime: 'new' | 'kept'

  unnamedCountAsSessions: boolean
  reusedSessionName: 'replaces' | 'adds' | 'joins'
  sessionUser: 'one-key' | 'all-keys'
  oldestSession: 'first-created' | 'longest-unused'

  /** Whether X-Forwarded-For counts as the caller's address. */
  trustProxy: boolean
  /** Calls a second, measured on the server's clock; 0: no limit. Above it: 429 with Retry-After. */
  callsPerSecond: number
  maxBodyBytes: number
  /** Each call takes this long; a frozen clock is moved instead. */
  delayMs: number
  /** How far the server's clock is ahead of the clock it was given. */
  clockOffsetMs: number
  /** Every connection is closed after its answer. */
  closeConnections: boolean
}

type Choices = { readonly [S in keyof Profile]: readonly [Profile[S], ...Profile[S][]] }

const minute = 60_000
const day = 24 * 60 * minute

/** The readings of each switch, the default first. Switches with a number or a word accept other values too. */
export const profileChoices: Choices = {
  basePath: ['', '/service/v1'],
  scheme: ['svc-hmac-sha256', 'x-svc-hmac'],
  tokenPrefix: ['Bearer', 'Token', ''],
  schemeCase: ['sensitive', 'any'],
  strictEnvelope: [true, false],
  idTypes: ['strings-and-numbers', 'integers', 'any'],
  notifications: ['refused', 'answered', 'no-body'],
  batch: ['refused', 'answered'],
  contentType: ['ignored', 'json-only'],
  extraMembers: ['ignored', 'refused'],
  methodCheckedFirst: [true, false],
  extraParams: ['refused', 'ignored'],
  extraResultMembers: [false, true],
  listShape: ['list', 'solutions', 'counted'],
  refusalStatus: ['ok', 'http'],
  errorBody: ['json-rpc', 'text', 'none'],
  errorId: ['request', 'null', 'none'],
  timeWindowMs: [10 * minute, 30_000, day],
  nonceMaxLength: [128, 64, 1024],
  nonceReuse: ['refused', 'accepted'],
  nonceBurntByBadSignature: [true, false],
  noncePadding: ['refused', 'accepted'],
  unpaddedSignatures: ['refused', 'accepted'],
  weakPublicKeys: ['refused', 'accepted'],
  keyScopeAboveCreator: ['kept', 'refused'],
  repeatedPublicKeys: ['accepted', 'refused'],
  unknownKeyScopes: ['kept', 'refused', 'all-but-shown-refused'],
  initialKeyCounts: [false, true],
  eleventhKey: ['refused', 'oldest-removed'],
  scopeCase: ['sensitive', 'any'],
  apikeySpelling: ['both', 'apikey', 'apiKey'],
  unknownScopes: ['refused', 'left-out'],
  emptyScope: ['nothing', 'whole-key', 'refused'],
  scopeEcho: ['without-restrictions', 'as-requested', 'sorted'],
  solutionIdFromAny: [true, false],
  authHeaderOnGrant: ['ignored', 'judged', 'refused'],
  scopeOnRefresh: ['refused', 'ignored', 'narrows'],
  accessLifeMs: [15 * minute, 30_000, day],
  refreshLifeMs: [7 * day, minute, 365 * day],
  tokenLength: [43, 400],
  expiresInTooLong: ['refused', 'capped'],
  expiryRounding: ['none', 'up-to-second'],
  expiresInKept: [true, false],
  reuseRevokesFamily: [false, true],
  refreshChecksAddress: [false, true],
  refreshLifetime: ['new', 'kept'],
  unnamedCountAsSessions: [false, true],
  reusedSessionName: ['replaces', 'adds', 'joins'],
  sessionUser: ['one-key', 'all-keys'],
  oldestSession: ['first-created', 'longest-unused'],
  trustProxy: [false, true],
  callsPerSecond: [0, 20],
  maxBodyBytes: [1024 * 1024, 16 * 1024],
  delayMs: [0, 80],
  clockOffsetMs: [0, 5 * minute, -5 * minute],
  closeConnections: [false, true],
}

export const defaultProfile = Object.fromEntries(
  Object.entries(profileChoices).map(([name, choices]) => [name, choices[0]]),
) as unknown as Profile

/** The default profile with some switches set otherwise. */
export function createProfile(switches: Partial<Profile> = {}): Profile {
  return { ...defaultProfile, ...switches }
}

const freeText: ReadonlySet<string> = new Set(['basePath', 'scheme', 'tokenPrefix'])

/** Checks a profile from outside, such as the JSON of a file. Throws a TypeError that names the switch and its values. */
export function readProfile(value: unknown): Partial<Profile> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('Write a profile as one JSON object of switches')
  }
  demandKnownNames('switch', value, Object.keys(defaultProfile), 'spec/open-questions.yaml names the switches')
  for (const [name, setting] of Object.entries(value)) {
    checkSetting(name as keyof Profile, setting)
  }
  return value
}

function checkSetting(name: keyof Profile, setting: unknown): void {
  const choices: readonly unknown[] = profileChoices[name]
  const wanted = typeof choices[0]
  if (wanted === 'number') {
    const lowest = name === 'clockOffsetMs' ? Number.MIN_SAFE_INTEGER : 0
    if (Number.isSafeInteger(setting) && (setting as number) >= lowest) return
    throw new TypeError(
      `Give the switch "${name}" a whole number${lowest === 0 ? ' of 0 or more' : ''}, not ${JSON.stringify(setting)}`,
    )
  }
  if (freeText.has(name)) {
    const problem = textProblem(name, setting)
    if (problem === undefined) return
    throw new TypeError(`Give the switch "${name}" ${problem}, not ${JSON.stringify(setting)}`)
  }
  if (choices.includes(setting)) return
  const words = choices.map((choice) => JSON.stringify(choice)).join(', ')
  throw new TypeError(`Give the switch "${name}" one of ${words}, not ${JSON.stringify(setting)}`)
}

function textProblem(name: string, setting: unknown): string | undefined {
  if (typeof setting !== 'string') return 'a text'
  if (name === 'basePath')
    return /^(\/[\w.~-]+)*$/.test(setting) ? undefined : 'a path that begins and does not end with "/"'
  const word = /^[\w.~+/-]*$/.test(setting)
  return word && (setting !== '' || name === 'tokenPrefix') ? undefined : 'one word'
}

/** A profile with every switch set at random; the same `chance` (numbers from 0 to 1) gives the same profile. */
export function randomProfile(chance: () => number): Profile {
  const picked = Object.entries(profileChoices).map(([name, choices]) => [
    name,
    choices[Math.floor(chance() * choices.length)] ?? choices[0],
  ])
  return Object.fromEntries(picked) as Profile
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
export interface Bounds {
  nonces: number
  /** Access and refresh tokens together. */
  tokens: number
  /** Records of keys, deleted ones included. */
  keys: number
  /** Solutions, and contexts. */
  records: number
  headerBytes: number
  connections: number
  /** From the first byte to the end of a request, in ms. */
  requestMs: number
}

export const defaultBounds: Bounds = {
  nonces: 200_000,
  tokens: 200_000,
  keys: 10_000,
  records: 10_000,
  headerBytes: 16 * 1024,
  connections: 10_000,
  requestMs: 30_000,
}

/** Refuses misspelt names, so that callers without types see the mistake where they make it. */

/**
 * Throws a TypeError that names the unknown member and the nearest known one.
 *
 * @param what what the object is, as in `Unknown option "clok" of startMockServer`
 * @param list says where the names are listed, if they are too many for the message
 */
export function demandKnownNames(what: string, given: object, known: readonly string[], list?: string): void {
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw new TypeError(`Unknown ${what} "${name}"${nearest(name, known) || (list === undefined ? '' : `; ${list}`)}`)
  }
}

/** Throws a TypeError where a value is not one of the words that it may be. */
export function demandWord(what: string, value: unknown, words: readonly string[]): void {
  if (words.some((word) => word === value)) return
  throw new TypeError(`Cannot use ${JSON.stringify(value)} for ${what}${nearest(String(value), words)}`)
}

/** Returns `, did you mean "clock"?`, or all known names where nothing is near and they are few. */
function nearest(name: string, known: readonly string[]): string {
  const near = known.find((one) => distance(one.toLowerCase(), name.toLowerCase()) <= 2)
  if (near !== undefined) return `, did you mean "${near}"?`
  return known.length > 24 ? '' : `, expected one of ${known.map((one) => `"${one}"`).join(', ')}`
}

/** Edits from one word to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (const [column, other] of [...to].entries()) {
      const changed = (row[column] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
