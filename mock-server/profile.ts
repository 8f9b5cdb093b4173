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
