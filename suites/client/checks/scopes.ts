/** Checks of the scopes that a client requests, and of how it reads the granted ones. */
import { type Check, type Evidence, type Finding, finding, type Judged } from '../check.ts'
import { textsOf } from '../story/rpc.ts'
import { goesOnAfter, type Pair, type Request, replacedMs, type Story } from '../story/story.ts'

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
