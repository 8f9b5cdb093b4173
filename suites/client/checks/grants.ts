/** Which credentials a client may use where: parts 4.2 and 5 of the document. */
import { type Check, type Evidence, type Finding, finding, findingsOf, type Judged } from '../check.ts'
import { goesOnAfter, type Pair, type Request, replacedMs, type Story, textOf, textsOf } from '../story/story.ts'
import { judgedBySignatures } from './signature.ts'

const publicKeySignsOnly: Check = {
  id: 'keys/public-key-signs-only',
  level: 'document',
  title: 'A key with a public key is used for ECC signatures only',
  sentence:
    'An ED25519 public key: then only ECC signatures may be used with the key. Basic is not usable with an API key that has a public key',
  source: 'interface parts 2, 4.1 and 5.2',
  judge(evidence) {
    const { story } = evidence
    const bySignature = judgedBySignatures(publicKeySignsOnly.id as 'keys/public-key-signs-only', evidence)
    const ids = new Set(story.keys.flatMap(({ kind, id }) => (kind === 'public' ? [id] : [])))
    const findings = [...story.requests.flatMap((request) => secretUse(request, ids)), ...bySignature.findings]
    return { exercised: findings.length > 0 || bySignature.exercised, findings }
  },
}

function secretUse({ authorization, params, kind, exchange }: Request, ids: ReadonlySet<string>): Finding[] {
  return findingsOf(exchange, [
    authorization.kind === 'basic' && ids.has(authorization.credentials?.id ?? '')
      ? 'Basic credentials name a key that has a public key. Sign with its private key'
      : null,
    kind === 'grant' && ids.has(textOf(params?.apiKeyId) ?? '')
      ? 'A token is requested with a key that has a public key. Sign each call instead'
      : null,
  ])
}

const noAuthorization: Check = {
  id: 'grants/no-authorization',
  level: 'document',
  title: 'manager/auth is sent without an Authorization header',
  sentence: 'manager/auth is sent without an Authorization header; credentials are in the params',
  source: 'interface part 4.2',
  judge({ story }) {
    const requests = tokenRequests(story)
    const message = 'manager/auth has an Authorization header. Leave it out'
    const withHeader = requests.filter(({ authorization }) => authorization.kind !== 'none')
    return { exercised: requests.length > 0, findings: withHeader.map((request) => finding(message, request)) }
  },
}

const grantParams: Check = {
  id: 'grants/params',
  level: 'document',
  title: 'manager/auth has the params of its grant type',
  sentence:
    'api_key_credentials: scope (array of string), apiKeyId and apiKeySecret (string); refresh_token: refreshToken (string)',
  source: 'interface part 4.2',
  judge({ story }) {
    const requests = tokenRequests(story)
    return { exercised: requests.length > 0, findings: requests.flatMap(paramsFindings) }
  },
}

function paramsFindings({ exchange, params }: Request): Finding[] {
  const text = (name: string): string | null =>
    textOf(params?.[name]) === null ? `${name} is missing or not a string` : null
  const problems =
    params?.grantType === 'refresh_token'
      ? [text('refreshToken')]
      : params?.grantType === 'api_key_credentials'
        ? [
            textsOf(params.scope) === null ? 'scope is not an array of strings' : null,
            text('apiKeyId'),
            text('apiKeySecret'),
          ]
        : ['grantType is neither api_key_credentials nor refresh_token']
  const messages = problems.map((problem) => problem && `In the params of manager/auth ${problem}`)
  return findingsOf(exchange, messages)
}

const tokenRequests = ({ requests }: Story): Request[] =>
  requests.filter(({ kind }) => kind === 'grant' || kind === 'refresh')

export const keyAndGrantChecks: readonly Check[] = [publicKeySignsOnly, noAuthorization, grantParams]

/** Checks of the scopes that a client requests, and of how it reads the granted ones. */

/** Refusals that show a client that a token has fewer scopes, or less time, than it requested. */
const refusalsLetPass = 2

const lifetime: Check = {
  id: 'scopes/lifetime',
  level: 'document',
  title: 'expiresIn:NUMBER is requested as the setting gives it',
  sentence:
    'expiresIn:NUMBER: access token expires after NUMBER milliseconds; NUMBER must not exceed the time-to-live of the refresh token',
  source: 'interface part 5.4',
  judge(evidence) {
    const kept = entriesKept(evidence, /^expiresIn:/)
    const grants = grantsOf(evidence.story)
    const findings = grants.flatMap(({ request, scope }) => lifetimeFindings(request, scope))
    const isRequested = grants.some(({ scope }) => scope.some((entry) => /^expiresIn:/i.test(entry)))
    return { exercised: kept.exercised || isRequested, findings: [...kept.findings, ...findings] }
  },
}

function lifetimeFindings({ exchange }: Request, scope: readonly string[]): Finding[] {
  const malformed = scope.find((entry) => /^expiresIn:/.test(entry) && !/^expiresIn:[1-9]\d*$/.test(entry))
  if (malformed !== undefined)
    return [finding(`The scope has "${malformed}". Send a whole number of milliseconds`, exchange)]
  if (exchange.stage !== 'scope/expires-in') return []
  return [finding('The lifetime is longer than that of the refresh token. Request a shorter one', exchange)]
}

const addressAndSession: Check = {
  id: 'scopes/address-and-session',
  level: 'document',
  title: 'ipAddr:ADDR and session:NAME are requested as the setting gives them',
  sentence:
    'session:NAME creates a session with the given name; ipAddr:ADDR: token usable only from connections from the IPv4 address ADDR',
  source: 'interface part 5.4',
  judge: (evidence) => entriesKept(evidence, /^(ipAddr|session):/),
}

/** Every entry of SVC_SCOPE of this form is in every grant, letter for letter. */
function entriesKept({ story }: Evidence, form: RegExp): Judged {
  const wanted = (story.setting.scope ?? []).filter((entry) => form.test(entry))
  const grants = grantsOf(story)
  if (wanted.length === 0) return { exercised: false, findings: [] }
  const findings = grants.flatMap(({ request, scope }) =>
    wanted
      .filter((entry) => !scope.includes(entry))
      .map((entry) => {
        const message = `The grant should request "${entry}" and requests ${JSON.stringify(scope)}. Send the entry as it is given`
        return finding(message, request)
      }),
  )
  return { exercised: grants.length > 0, findings }
}

const least: Check = {
  id: 'scopes/least',
  level: 'practice',
  title: 'A grant requests what the calls need, and no more',
  sentence: 'The privileges of an access token should be restricted to the minimum that is required',
  source: 'RFC 9700 §2.3',
  judge({ story }) {
    const { scope: needed } = story.setting
    if (needed === null) return { exercised: false, findings: [] }
    const grants = grantsOf(story)
    const findings = grants.flatMap(({ request, scope }): Finding[] => {
      const more = scope.filter((entry) => !isRestriction(entry) && !includesInAnyCase(needed, entry))
      if (more.length === 0) return []
      const message = `The grant requests ${more.map((entry) => `"${entry}"`).join(', ')} besides ${needed.join(', ')}. Request only what the calls need`
      return [finding(message, request)]
    })
    return { exercised: grants.length > 0, findings }
  },
}

/** Entries that restrict a token. */
const isRestriction = (entry: string): boolean => /^(session|ipAddr|expiresIn):/.test(entry)

/** The document does not show whether the case of scope names counts. */
const includesInAnyCase = (entries: readonly string[], entry: string): boolean =>
  entries.some((other) => other.toLowerCase() === entry.toLowerCase())

const grantedIsRead: Check = {
  id: 'scopes/granted-is-read',
  level: 'practice',
  title: 'A client reads what was granted, not only what it requested',
  sentence:
    'The result names the scopes granted and the expiry of the access token, which may be less than was requested',
  source: 'RFC 6749 §3.3 and §5.1; interface part 4.2',
  judge({ story }) {
    const narrowed = story.pairs.filter((pair) => isGivenWith(pair, 'narrow-grant'))
    const shortened = story.pairs.filter((pair) => isGivenWith(pair, 'shorten-lifetime'))
    const outlived = shortened.filter(({ accessExpiryMs }) => goesOnAfter(story, accessExpiryMs))
    const findings = [...scopeFindings(story, narrowed), ...shortened.flatMap(expiryFindings)]
    return { exercised: narrowed.length > 0 || outlived.length > 0, findings }
  },
}

function isGivenWith({ issuedBy, heldMs }: Pair, fault: string): boolean {
  return heldMs !== null && issuedBy.exchange.faults.includes(fault)
}

function scopeFindings({ requests }: Story, narrowed: readonly Pair[]): Finding[] {
  const [first] = narrowed
  const refused = requests.filter(({ exchange }) => exchange.stage === 'scope/area')
  if (first === undefined || refused.length <= refusalsLetPass) return []
  const message = `${refused.length} calls are refused for their scope, although the grant named fewer scopes than were requested. Read "scope" of the result`
  return [finding(message, first.issuedBy, ...refused.slice(0, 2))]
}

function expiryFindings(pair: Pair): Finding[] {
  // Using an old pair although the client has a newer one is another check.
  const untilMs = replacedMs(pair) ?? Number.POSITIVE_INFINITY
  const refused = pair.uses.filter(
    (one) => one.kind !== 'refresh' && one.outcome === 'refused' && one.exchange.startedMs < untilMs,
  )
  if (refused.length <= refusalsLetPass) return []
  const message = `A token is sent ${refused.length} times after its expiry, which is earlier than was requested. Read accessTokenExpiry of the result`
  return [finding(message, pair.issuedBy, ...refused.slice(0, 2))]
}

function grantsOf({ requests }: Story): { request: Request; scope: readonly string[] }[] {
  return requests.flatMap((request) => {
    const scope = request.kind === 'grant' ? textsOf(request.params?.scope) : null
    return scope === null ? [] : [{ request, scope }]
  })
}

export const scopeChecks: readonly Check[] = [lifetime, addressAndSession, least, grantedIsRead]

/** Checks of how a client uses the limits: ten keys, sixteen sessions. */

const keysAndSessionsReused: Check = {
  id: 'limits/keys-and-sessions-reused',
  level: 'practice',
  title: 'A second start creates no new key and no new session name',
  sentence:
    'At most 10 API keys can be created; one user can have up to 16 sessions; when the limit is reached the oldest session is removed',
  source: 'interface parts 2 and 8',
  judge({ story }) {
    const [first, ...later] = (story.starts ?? []).map((_, start) =>
      story.requests.filter((one) => one.start === start),
    )
    if (first === undefined || later.length === 0) return { exercised: false, findings: [] }
    const works = (requests: readonly Request[]): boolean => requests.some(({ outcome }) => outcome === 'accepted')
    const findings = later.flatMap((requests) => [
      ...newSessions(story, first, requests),
      ...newKeys(story, first, requests),
    ])
    return { exercised: works(first) && later.every(works), findings }
  },
}

function newSessions(story: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  const known = new Set([...first.flatMap(sessionsOf), ...(story.setting.scope ?? [])])
  const request = later.find((one) => sessionsOf(one).some((name) => !known.has(name)))
  if (request === undefined) return []
  const name = sessionsOf(request).find((one) => !known.has(one))
  const message = `The second start requests "${name}", which the first did not. Use one name, so that 16 starts do not end older sessions`
  return [finding(message, request)]
}

const sessionsOf = ({ kind, params }: Request): string[] =>
  kind === 'grant' ? (textsOf(params?.scope) ?? []).filter((entry) => entry.startsWith('session:')) : []

function newKeys({ setting }: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  if (setting.method === 'manager/createApiKey') return []
  const creations = (requests: readonly Request[]): Request[] =>
    requests.filter(({ method, outcome }) => method === 'manager/createApiKey' && outcome === 'accepted')
  const [before] = creations(first)
  const [again] = creations(later)
  if (before === undefined || again === undefined) return []
  return [finding('Every start creates an API key. Keep the first one, since there are ten places', before, again)]
}

export const limitChecks: readonly Check[] = [keysAndSessionsReused]
