/** Checks of grants (part 4.2 of the document), of scopes, and of limits. */
import { isStrings } from '../../engine/json.ts'
import { type Check, each, type Finding, finding, ofEach } from '../check.ts'
import { isForTokens, isOutlived, type Request, replacedMs, type Story } from '../journal.ts'

const paramsChecks: readonly Check[] = [
  {
    id: 'grants/no-authorization',
    level: 'document',
    title: 'manager/auth is sent without an Authorization header',
    sentence: 'manager/auth is sent without an Authorization header; credentials are in the params',
    source: 'interface part 4.2',
    judge: ofEach(isForTokens, ({ authorization }) => [
      authorization.kind !== 'none' && 'manager/auth has an Authorization header. Leave it out',
    ]),
  },
  {
    id: 'grants/params',
    level: 'document',
    title: 'manager/auth has the params of its grant type',
    sentence:
      'api_key_credentials: scope (array of string), apiKeyId and apiKeySecret (string); refresh_token: refreshToken (string)',
    source: 'interface part 4.2',
    judge: ofEach(isForTokens, ({ params }) => {
      const { grantType, scope } = params
      const problems = ['apiKeyId', 'apiKeySecret', 'refreshToken']
        .filter((name) => (name === 'refreshToken') === (grantType === 'refresh_token'))
        .map((name) => typeof params[name] !== 'string' && `${name} is missing or not a string`)
      const all =
        grantType === 'refresh_token'
          ? problems
          : grantType === 'api_key_credentials'
            ? [!isStrings(scope) && 'scope is not an array of strings', ...problems]
            : ['grantType is neither api_key_credentials nor refresh_token']
      return all.map((problem) => problem && `In the params of manager/auth ${problem}`)
    }),
  },
]

/** Refusals that show a client that a token has fewer scopes, or less time, than it requested. */
const refusalsLetPass = 2

const scopeChecks: readonly Check[] = [
  {
    id: 'scopes/lifetime',
    level: 'document',
    title: 'expiresIn:NUMBER is requested as the setting gives it',
    sentence:
      'expiresIn:NUMBER: access token expires after NUMBER milliseconds; NUMBER must not exceed the time-to-live of the refresh token',
    source: 'interface part 5.4',
    judge(evidence) {
      const { requests } = evidence.story
      const kept = entriesKept(/^expiresIn:/)(evidence)
      const findings = each(requests, (request) => {
        const scope = scopeOf(request)
        const malformed = scope?.find((entry) => /^expiresIn:/.test(entry) && !/^expiresIn:[1-9]\d*$/.test(entry))
        if (malformed !== undefined) return [`The scope has "${malformed}". Send a whole number of milliseconds`]
        const isTooLong = scope !== null && request.stage === 'scope/expires-in'
        return [isTooLong && 'The lifetime is longer than that of the refresh token. Request a shorter one']
      })
      const isRequested = requests.some((request) => scopeOf(request)?.some((entry) => /^expiresIn:/i.test(entry)))
      return { exercised: kept.exercised || isRequested, findings: [...kept.findings, ...findings] }
    },
  },
  {
    id: 'scopes/address-and-session',
    level: 'document',
    title: 'ipAddr:ADDR and session:NAME are requested as the setting gives them',
    sentence:
      'session:NAME creates a session with the given name; ipAddr:ADDR: token usable only from connections from the IPv4 address ADDR',
    source: 'interface part 5.4',
    judge(evidence) {
      const kept = entriesKept(/^(ipAddr|session):/)(evidence)
      const elsewhere = each(evidence.story.requests, ({ stage }) => [
        stage === 'token/address' &&
          'A token is sent from another address than the one it is bound to. Send it from the address of its scope',
      ])
      return { ...kept, findings: [...kept.findings, ...elsewhere] }
    },
  },
  {
    id: 'scopes/least',
    level: 'practice',
    title: 'A grant requests what the calls need, and no more',
    sentence: 'The privileges of an access token should be restricted to the minimum that is required',
    source: 'RFC 9700 §2.3',
    judge: ofEach(
      (request, { setting }) => scopeOf(request) !== null && setting.scope !== null,
      (request, { setting }) => {
        const needed = setting.scope ?? []
        // The document does not show whether the case of scope names counts.
        const isNeeded = (entry: string): boolean => needed.some((other) => other.toLowerCase() === entry.toLowerCase())
        const more = scopeOf(request)?.filter((entry) => !isRestriction(entry) && !isNeeded(entry)) ?? []
        const names = more.map((entry) => `"${entry}"`).join(', ')
        return [
          more.length > 0 &&
            `The grant requests ${names} besides ${needed.join(', ')}. Request only what the calls need`,
        ]
      },
    ),
  },
  {
    id: 'scopes/granted-is-read',
    level: 'practice',
    title: 'A client reads what was granted, not only what it requested',
    sentence:
      'The result names the scopes granted and the expiry of the access token, which may be less than was requested',
    source: 'RFC 6749 §3.3 and §5.1; interface part 4.2',
    judge({ story }) {
      const givenWith = (fault: string): Pair[] =>
        story.pairs.filter(({ heldMs, issuedBy }) => Number.isFinite(heldMs) && issuedBy.faults.includes(fault))
      const narrowed = givenWith('narrow-grant')
      const shortened = givenWith('shorten-lifetime')
      return {
        exercised: narrowed.length > 0 || shortened.some((pair) => isOutlived(story, pair)),
        findings: [...scopeFindings(story, narrowed), ...shortened.flatMap(expiryFindings)],
      }
    },
  },
]

/** Every entry of SVC_SCOPE of this form is in every grant, letter for letter. */
function entriesKept(form: RegExp): Check['judge'] {
  const wantedIn = ({ setting }: Story): string[] => (setting.scope ?? []).filter((entry) => form.test(entry))
  return ofEach(
    (request, story) => scopeOf(request) !== null && wantedIn(story).length > 0,
    (request, story) => {
      const scope = scopeOf(request) ?? []
      return wantedIn(story).map(
        (entry) =>
          !scope.includes(entry) &&
          `The grant should request "${entry}" and requests ${JSON.stringify(scope)}. Send the entry as it is given`,
      )
    },
  )
}

/** Entries that restrict a token. */
const isRestriction = (entry: string): boolean => /^(session|ipAddr|expiresIn):/.test(entry)

type Pair = Story['pairs'][number]

function scopeFindings({ requests }: Story, [first]: readonly Pair[]): Finding[] {
  const refused = requests.filter(({ stage }) => stage === 'scope/area')
  if (first === undefined || refused.length <= refusalsLetPass) return []
  const message = `${refused.length} calls are refused for their scope, although the grant named fewer scopes than were requested. Read "scope" of the result`
  return [finding(message, first.issuedBy, ...refused.slice(0, 2))]
}

function expiryFindings(pair: Pair): Finding[] {
  // Using an old pair although the client has a newer one is another check.
  const refused = pair.uses.filter(
    ({ kind, outcome, startedMs }) => kind !== 'refresh' && outcome === 'refused' && startedMs < replacedMs(pair),
  )
  if (refused.length <= refusalsLetPass) return []
  const message = `A token is sent ${refused.length} times after its expiry, which is earlier than was requested. Read accessTokenExpiry of the result`
  return [finding(message, pair.issuedBy, ...refused.slice(0, 2))]
}

/** How a client uses the limits: ten keys, sixteen sessions. */
const limitChecks: readonly Check[] = [
  {
    id: 'limits/keys-and-sessions-reused',
    level: 'practice',
    title: 'A second start creates no new key and no new session name',
    sentence:
      'At most 10 API keys can be created; one user can have up to 16 sessions; when the limit is reached the oldest session is removed',
    source: 'interface parts 2 and 8',
    judge({ story }) {
      const starts = (story.starts ?? []).map((_, start) => story.requests.filter((one) => one.start === start))
      const [first, ...later] = starts
      if (first === undefined || later.length === 0) return { exercised: false, findings: [] }
      const findings = later.flatMap((requests) => [
        ...newSessions(story, first, requests),
        ...newKeys(story, first, requests),
      ])
      return { exercised: starts.every((requests) => requests.some(isAccepted)), findings }
    },
  },
]

const isAccepted = ({ outcome }: Request): boolean => outcome === 'accepted'

function newSessions({ setting }: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  const known = [...first.flatMap((one) => scopeOf(one) ?? []), ...(setting.scope ?? [])]
  for (const request of later) {
    const name = scopeOf(request)?.find((entry) => entry.startsWith('session:') && !known.includes(entry))
    if (name === undefined) continue
    const message = `The second start requests "${name}", which the first did not. Use one name, so that 16 starts do not end older sessions`
    return [finding(message, request)]
  }
  return []
}

function newKeys({ setting }: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  if (setting.method === 'manager/createApiKey') return []
  const [before, again] = [first, later].map((requests) =>
    requests.find((one) => one.method === 'manager/createApiKey' && isAccepted(one)),
  )
  if (before === undefined || again === undefined) return []
  return [finding('Every start creates an API key. Keep the first one, since there are ten places', before, again)]
}

export const grantChecks: readonly Check[] = [...paramsChecks, ...scopeChecks, ...limitChecks]

/** The entries of scope that a grant requests; null if it is not a grant, or has no list of strings. */
const scopeOf = ({ kind, params: { scope } }: Request): readonly string[] | null =>
  kind === 'grant' && isStrings(scope) ? scope : null
