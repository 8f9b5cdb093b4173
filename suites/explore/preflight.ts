import { sessionLimit } from '../engine/document.ts'
import type { Misuse } from '../engine/model/state.ts'
import type { Explorer } from './explorer.ts'
import { everyScope, expectRefused, freshName, granted, isAccepted } from './keyring.ts'
import { basic, type CallStep, changed, create, ecc, grant, hmac, list, refresh, token } from './step.ts'

const oddMs = 370

/** Checks that the root key is accepted: with credentials, which need no clock, or with a signature. */
export async function findWorkingAuthorization(x: Explorer): Promise<boolean> {
  // A clock that is moved often stands at a full second, where a server that counts whole seconds makes no mistake.
  if (x.clock.controlled) await x.wait(oddMs)
  const isSecret = x.names.get('root')?.seed === undefined
  x.setSignatureClock(0, false)
  if (isSecret && (await isAccepted(x, list(basic('root'))))) return true
  return learnSignatures(x)
}

/** Differences below this are the resolution of the Date header. */
const notableOffsetMs = 2000

/** Finds the clock for signatures: ours, that of the Date header or that of tokens, whichever the target accepts. */
export async function learnSignatures(x: Explorer): Promise<boolean> {
  const auth = x.names.get('root')?.seed === undefined ? hmac('root') : ecc('root')
  const offsets = [0, x.dateOffset(), x.state().tokenClock?.from ?? null]
  const isOurs = offsets.every((offset) => offset === null || Math.abs(offset) < notableOffsetMs)
  for (const offset of isOurs ? [] : offsets) {
    if (offset === null) continue
    x.setSignatureClock(offset, false)
    if (!(await isAccepted(x, list(auth)))) continue
    x.setSignatureClock(offset, true)
    return true
  }
  x.setSignatureClock(0, true)
  return isAccepted(x, list(auth))
}

/** Learns how tokens are used here. @param who a key without public key */
export async function learnTokens(x: Explorer, who: string): Promise<boolean> {
  const first = freshName(x)
  await x.call(grant(who, ['solution', 'expiresIn:15000'], { as: first }))
  if (!x.lines.has(first)) await x.call(grant(who, ['solution'], { as: first }))
  if (!x.lines.has(first)) return false
  // Used before the next grant, which may replace this one.
  await learnPrefix(x, first)
  // A second number: a constant error in what is reported shows only beside another.
  await x.call(grant(who, ['solution', 'expiresIn:7000']))
  await learnSessionNames(x, who)
  // Which words of scope are granted.
  for (const word of everyScope) {
    const restricted = word === 'solution' || word === 'context' || word === 'solution:*'
    if (!restricted) await x.call(grant(who, ['solution', word]))
  }
  return true
}

/** Finds the word before a token: the user's, or the first that the target accepts. It stays unknown if none works. */
async function learnPrefix(x: Explorer, pair: string): Promise<void> {
  const { tokenPrefix: prefix } = x.options.instance.settings
  const reported = (x.names.get(pair) as { tokenType?: unknown }).tokenType
  const words = [prefix, 'Bearer', typeof reported === 'string' ? reported : undefined, 'Token', '']
  for (const word of prefix === undefined ? new Set(words) : new Set([prefix])) {
    if (word === undefined) continue
    x.setTerms({ tokenPrefix: word })
    if (await isAccepted(x, list(token(pair)))) return
  }
  if (prefix === undefined) x.setTerms({ tokenPrefix: null })
}

/** Learns whether session names may be long and have hyphens; where not, every name is made short. */
async function learnSessionNames(x: Explorer, who: string): Promise<void> {
  const seen = await x.call(grant(who, ['solution', 'session:first-of-all-sessions-$unique']))
  x.setTerms({ longSessionNames: seen?.answer.kind === 'accepted' })
}

/** A target that removes the right session this many times in a row knows their ages: a guess has one chance in seventeen each time. */
const removalsTried = 4

/**
 * Learns whether the target tells the ages of sessions apart that were made one right after another; then no pauses between them are needed. A
 * server that keeps whole seconds may do so, too, if it removes what came first; then pauses show nothing more there.
 *
 * @param who a key without public key
 */
export async function learnAges(x: Explorer, who: string): Promise<void> {
  x.script = 'preflight'
  const sessions: string[] = []
  for (let made = 0; made < sessionLimit + removalsTried; made++) {
    const pair = freshName(x)
    const seen = await x.call(grant(who, ['solution', `session:${pair}-$unique`], { as: pair }))
    // Where one session more is refused, none is removed, and no age shows. There may have been some before these.
    if (made > 0 && seen?.answer.kind === 'refused') x.keepsFineAges(true)
    if (!x.lines.has(pair)) return
    sessions.push(pair)
    // One that lives is younger from now on.
    const oldest = sessions[made - sessionLimit]
    if (oldest !== undefined && (await works(x, oldest))) return
  }
  for (const pair of sessions.slice(removalsTried)) if (!(await works(x, pair))) return
  x.keepsFineAges(true)
}

/** Solutions that the user names and that are tried. */
const mostNamed = 2

/** Finds a scope word of one solution that is granted to a key, whose own scope may not have it: a server may refuse ids of solutions that do not exist. */
export async function learnSolution(x: Explorer, who: string): Promise<void> {
  for (const id of [...x.solutions.slice(0, mostNamed), '1']) {
    const word = `solution:${id}`
    if (!(await isAccepted(x, grant(who, ['solution', word])))) continue
    x.oneSolution.set(who, word)
    return
  }
}

/**
 * Learns whether a token without a session outlives others of its key, so that its refusal after as many newer ones means something.
 *
 * @param others how many newer tokens are granted
 */
export async function learnLiveTokens(x: Explorer, who: string, others: number): Promise<void> {
  const first = freshName(x)
  await x.call(grant(who, ['solution'], { as: first }))
  if (!x.lines.has(first)) return
  for (let at = 0; at < others; at++) await x.call(grant(who, ['solution']))
  if (await works(x, first)) return x.setTerms({ liveTokens: others })
  // A grant may take the place of one for the same scope, or of any other.
  x.setTerms({ liveTokens: 0 })
  const [same, another] = [await outlivesOne(x, who, ['solution']), await outlivesOne(x, who, ['solution', 'context'])]
  if (same && another) x.setTerms({ liveTokens: fewTokens })
}

/** No known server that lets a token outlive each single newer one ends it when this many are issued. */
const fewTokens = 2

async function outlivesOne(x: Explorer, who: string, scope: readonly string[]): Promise<boolean> {
  const first = freshName(x)
  await x.call(grant(who, ['solution'], { as: first }))
  await x.call(grant(who, scope))
  return works(x, first)
}

type Address = Explorer['addresses'][number]

/**
 * Learns which of our addresses the target sees: behind a proxy or in a container it sees others, so the first two count only if a token
 * that is bound to them works from there.
 *
 * @param who a key to call with, and to request tokens with; `grants`: whether tokens may be requested
 */
export async function learnAddresses(x: Explorer, who: string, grants: boolean): Promise<void> {
  const [own, second, ...more] = x.addresses
  if (own === undefined) return
  const isDeclared = x.options.instance.settings.clientAddress !== undefined
  const { seen } = own
  const shown: Address[] = [isDeclared ? own : { ...own, seen: '' }]
  // Nothing is judged by an address before the target has shown that it sees it.
  x.addresses = x.addresses.map((address) => ({ ...address, seen: '' }))
  const works = async (address: Address): Promise<boolean> =>
    (await worksFrom(x, address, who)) || (await worksMapped(x, address, who))
  if (!isDeclared && grants && seen !== '' && (await works(own))) shown[0] = own
  const isSecondSeen = second !== undefined && (await isReached(x, second, who)) && (!grants || (await works(second)))
  if (second !== undefined && isSecondSeen) shown.push(second)
  // If a proxy or a container replaced addresses on the way, the second one would not have been seen.
  for (const address of isSecondSeen ? more : []) if (await isReached(x, address, who)) shown.push(address)
  x.addresses = shown
}

/** Whether a call from an address arrives. */
async function isReached(x: Explorer, { name }: Address, who: string): Promise<boolean> {
  const auth = x.names.get(who)?.seed === undefined ? basic(who) : ecc(who)
  return isAccepted(x, list(auth, { from: name, connection: 'new' }))
}

/** Whether a token that is bound to an address works from it. */
async function worksFrom(x: Explorer, { name: from, seen }: Address, who: string): Promise<boolean> {
  const bound = freshName(x)
  await x.call(grant(who, ['solution', `ipAddr:${seen}`], { as: bound, from }))
  return x.lines.has(bound) && (await isAccepted(x, list(token(bound), { from })))
}

/**
 * Whether the target compares the form in which a socket for IPv6 and IPv4 shows this address: then it sees the address, and a refused token that
 * is bound to it says something. A target may take every word that is no IPv4 address.
 */
async function worksMapped(x: Explorer, address: Address, who: string): Promise<boolean> {
  const bound = (seen: string): Promise<boolean> => worksFrom(x, { ...address, seen: `::ffff:${seen}` }, who)
  const isMapped = (await bound(address.seen)) && !(await bound(foreignAddress))
  x.mapsAddresses ||= isMapped
  return isMapped
}

/** Of a network for documentation, so never ours. */
const foreignAddress = '203.0.113.7'

/**
 * Learns after which misuses of a token the target refuses it, and others, for good (errors/outcomes): the document does not show that.
 *
 * @param who a key to request tokens with; `keys`: whether keys may be created
 */
export async function learnWithdrawals(x: Explorer, who: string, keys: boolean): Promise<void> {
  const found = new Set<Misuse>()
  // As long as it is not known, no refusal after a misuse means anything.
  x.setTerms({ withdraws: new Set(['address', 'scope', 'kind', 'altered', 'reuse']) })
  for (const [misuse, scope, wrong] of trials(x, keys)) {
    const pair = await granted(x, { who, scope })
    const step = pair === undefined ? undefined : wrong(pair)
    if (pair === undefined || step === undefined || !(await works(x, pair))) continue
    await expectRefused(x, step)
    if (!(await works(x, pair))) found.add(misuse)
  }
  if (await endsOthers(x, who)) found.add('reuse')
  x.setTerms({ withdraws: found })
}

/** Each misuse, the scope of a pair for it, and the wrong call; undefined: it cannot be tried here. */
function trials(
  { addresses: [, second] }: Explorer,
  keys: boolean,
): readonly (readonly [Misuse, readonly string[], (pair: string) => CallStep | undefined])[] {
  const plain = ['solution']
  const field = 'param refreshToken'
  return [
    ['address', [...plain, 'ipAddr:'], (pair) => second && list(token(pair), { from: second.name })],
    ['scope', plain, (pair) => (keys ? create(token(pair), { name: 'deviation-$unique', scope: plain }) : undefined)],
    ['kind', plain, (pair) => list({ token: `$${pair}.refreshToken` })],
    ['kind', plain, (pair) => changed(refresh(pair), { field, value: `$${pair}.accessToken` })],
    ['altered', plain, (pair) => changed(refresh(pair), { field, operation: 'late-changed' })],
  ]
}

const works = (x: Explorer, pair: string): Promise<boolean> => isAccepted(x, list(token(pair)))

/** Whether a refresh token that is used again ends another pair of its key, too. */
async function endsOthers(x: Explorer, who: string): Promise<boolean> {
  const used = await granted(x, { who, scope: ['solution'] })
  if (used === undefined) return false
  await x.call(refresh(used, { as: freshName(x) }))
  const other = await granted(x, { who, scope: ['solution', 'context'] })
  if (other === undefined || !(await works(x, other))) return false
  await expectRefused(x, refresh(used))
  return !(await works(x, other))
}
