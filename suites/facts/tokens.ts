/** Part 5.3: words before a token, lifetimes, and how a token looks. Grants a few tokens. */
import { basic, type Caller, token } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import { acceptance, amount, type Probe, type ProbeResult, resultOf, tokenProbe, word } from './fact.ts'
import { type Pair, pairOf, requestGrant } from './granted.ts'

const likelyWords = ['Bearer', 'Token', '', 'bearer', 'BEARER', 'token']

async function tokenWords(caller: Caller): Promise<ProbeResult> {
  const reply = await requestGrant(caller, ['solution'])
  const pair = pairOf(reply)
  if (pair === null) return { facts: [] }
  const { tokenType } = reply.result as { tokenType?: unknown }
  const words = [caller.tokenPrefix, ...likelyWords, ...(isWord(tokenType) ? [tokenType] : [])]
  const accepted: string[] = []
  for (const one of new Set(words)) {
    if (await caller.accepts({ auth: token(caller, pair.access, one) })) accepted.push(one)
  }
  const [prefix] = accepted
  if (prefix !== undefined) caller.tokenPrefix = prefix
  const shown = accepted.map((one) => (one === '' ? '(none)' : one)).join(', ') || 'none of them'
  const lowerBasic = await caller.call({ auth: basic(caller, { word: 'basic' }) })
  return resultOf(
    { ...(prefix === undefined ? {} : { tokenPrefix: prefix }), tokenLength: pair.access.length },
    word(
      'tokens/prefix',
      'words before a token',
      shown,
      `tried ${[...new Set(words)].map((one) => `"${one}"`).join(', ')}`,
    ),
    acceptance('signatures/scheme-case', '"basic" in lower case', lowerBasic),
    word('tokens/format', 'form of a token', formOf(pair.access), `${pair.access.length} characters`),
    amount('tokens/format', 'length of a token', { value: pair.access.length, unit: 'characters' }, 'one grant'),
  )
}

const isWord = (value: unknown): value is string => typeof value === 'string' && /^[\w.~+/-]+$/.test(value)

function formOf(text: string): string {
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return 'three parts, as a JWT has'
  if (/^[0-9a-f]+$/i.test(text)) return 'hex'
  if (/^[\w-]+$/.test(text)) return 'base64url or letters and digits'
  return /^[\w+/]+=*$/.test(text) ? 'base64' : 'other'
}

/** The number of grants, at different parts of a second, that show whether expiries are rounded. */
const samples = 4
const betweenMs = 137

async function lifetimes(caller: Caller): Promise<ProbeResult> {
  const access: number[] = []
  const refresh: number[] = []
  const expiries: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    const pair = pairOf(await requestGrant(caller, ['solution']))
    if (pair === null || !Number.isFinite(pair.accessExpiryMs)) return { facts: [] }
    const nowMs = caller.serverNowMs()
    access.push(pair.accessExpiryMs - nowMs)
    refresh.push(pair.refreshExpiryMs - nowMs)
    expiries.push(pair.accessExpiryMs, pair.refreshExpiryMs)
    await caller.instance.clock.sleep(betweenMs)
  }
  const isRounded = expiries.every((ms) => ms % 1000 === 0)
  const accessMs = wholeSeconds(Math.min(...access))
  const refreshMs = wholeSeconds(Math.min(...refresh))
  const evidence = (ms: number): string => `reported expiry minus the server's clock: ${ms} ms`
  return resultOf(
    { accessLifeMs: accessMs, refreshLifeMs: refreshMs, expiryRounding: isRounded ? 'up-to-second' : 'none' },
    amount('limits/token-lifetimes', 'lifetime of access tokens', lifetime(accessMs), evidence(accessMs)),
    amount('limits/token-lifetimes', 'lifetime of refresh tokens', lifetime(refreshMs), evidence(refreshMs)),
    word('limits/token-lifetimes', 'expiries in whole seconds', isRounded, `${samples} grants`),
  )
}

const units = [
  { unit: 'days', ms: 86_400_000 },
  { unit: 'hours', ms: 3_600_000 },
  { unit: 'minutes', ms: 60_000 },
]

/** In the largest unit of which it has at least two, to two decimals. */
export function lifetime(lifeMs: number): { value: number; unit: string } {
  const { unit, ms } = units.find((one) => lifeMs >= 2 * one.ms) ?? { unit: 'seconds', ms: 1000 }
  return { value: Math.round((lifeMs * 100) / ms) / 100, unit }
}

const wholeSeconds = (ms: number): number => Math.max(1000, Math.round(ms / 1000) * 1000)

async function expiresIn(caller: Caller): Promise<ProbeResult> {
  const first = pairOf(await requestGrant(caller, ['solution']))
  if (first === null) return { facts: [] }
  const refreshLifeMs = first.refreshExpiryMs - caller.serverNowMs()
  const long = await requestGrant(caller, ['solution', `expiresIn:${Math.round(refreshLifeMs + 3_600_000)}`])
  const facts = [
    word(
      'expires-in/too-long',
      'expiresIn above the refresh lifetime',
      longWord(long.outcome, pairOf(long)),
      describeReply(long),
    ),
  ]
  for (const form of ['0', '-5', '1.5', 'soon']) {
    const reply = await requestGrant(caller, ['solution', `expiresIn:${form}`])
    facts.push(acceptance('expires-in/forms', `expiresIn:${form}`, reply))
  }
  return resultOf({ expiresInTooLong: long.outcome === 'accepted' ? 'capped' : 'refused' }, ...facts)
}

function longWord(outcome: string, pair: Pair | null): string {
  if (outcome !== 'accepted' || pair === null) return 'refused'
  return pair.accessExpiryMs <= pair.refreshExpiryMs ? 'shortened' : 'kept'
}

export const tokenProbes: readonly Probe[] = [
  tokenProbe('words before a token', { calls: 9, refusals: 6, grants: 1 }, tokenWords),
  tokenProbe('lifetimes', { calls: 4, refusals: 0, grants: 4 }, lifetimes),
  tokenProbe('expiresIn', { calls: 6, refusals: 5, grants: 1 }, expiresIn),
]
