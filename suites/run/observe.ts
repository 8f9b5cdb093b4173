/** What a target does where the document is silent: the scenarios that observe, told as a sheet, as a profile, or beside another target. */
import { allItems, type Item } from '../engine/conversation/cases.ts'
import { type Conversation, closeConversation, openConversation } from '../engine/conversation/conversation.ts'
import { listSolutions, serverNow } from '../engine/conversation/send.ts'
import { defined } from '../engine/json.ts'
import type { CaseObservation, SeenAnswer } from '../engine/judge/problem.ts'
import type { Auth, Corpus } from '../engine/language/fixture-types.ts'
import { redactValue } from '../engine/redact.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { Target } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import type { Profile } from '../targets/bundled.ts'
import { endedTarget } from './ending.ts'
import { workAtTarget } from './keys.ts'
import type { TargetOptions } from './options.ts'
import { findLargest } from './preflight.ts'
import { engineRun, openRun, runInTurn, runPreflight } from './run.ts'

type RunSetup = Parameters<typeof openRun>[0]

/** One thing that the target does where the document is silent. Measured, never judged. */
interface Fact {
  /** The open question that it answers (spec/open-questions.yaml). */
  question: string
  /** What was asked. */
  name: string
  value: string | number | boolean
  /** `seconds`, `characters`, `bytes`; null for words. */
  unit: string | null
  evidence: string
}

/** The cases that observe an open question. */
export const observingItems = (corpus: Corpus): Item[] =>
  allItems(corpus).filter(
    (item) => item.kind === 'case' && item.scenario.steps.some((step) => 'observe' in step && step.observe),
  )

/** An observation with the key of its case, `#` and the sentence of its step, if it has one. */
interface Observed extends CaseObservation {
  at: string
  seen: readonly SeenAnswer[]
}

type Observations = Awaited<ReturnType<typeof observe>>

interface ObserveOptions
  extends Pick<RunSetup, 'target' | 'corpus' | 'items' | 'allow' | 'seed' | 'random'>,
    Partial<Pick<RunSetup, 'listener' | 'ending'>> {
  /** How long to wait for the target to come up, in ms. */
  patientMs: number
  /** The longest wait for a nonce to be forgotten, in ms; null: nothing is searched for. */
  maxWaitMs: number | null
}

/**
 * Asks every case that observes, then searches for the largest values that the target takes.
 *
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130)
 */
export async function observe({ patientMs, maxWaitMs, ...options }: ObserveOptions) {
  const setup: RunSetup = {
    ...options,
    unique: options.random.bytes(4).reduce((text, byte) => text + byte.toString(36), 'f'),
  }
  let calls = 0
  setup.listener = (event) => {
    if (event.kind === 'exchange-begun') calls += 1
    options.listener?.(event)
  }
  const facts = await runPreflight(setup, patientMs)
  const outcomes = await runInTurn(await openRun({ ...setup, facts }))
  const talk = await openConversation(engineRun(setup, facts))
  try {
    const { settings, baseUrl } = talk.instance
    const searched: Searched = maxWaitMs === null ? { facts: [], profile: {} } : await search(talk, maxWaitMs)
    return {
      outcomes,
      observed: outcomes.flatMap(({ key, observations }) =>
        observations.map(
          (one): Observed => ({
            ...one,
            at: one.step === undefined ? key : `${key}#${one.step}`,
            seen: one.seen ?? [],
          }),
        ),
      ),
      searched: redactValue(searched, talk.redactor),
      /** Every call that was sent, those of the preflight and of the search included. */
      calls,
      /** The scheme word and the base path, as the target file names them. */
      named: { scheme: settings.scheme, basePath: new URL(baseUrl).pathname.replace(/\/$/, '') },
    }
  } finally {
    await closeConversation(talk)
  }
}

/**
 * Measures a server, and removes the API keys that this created, also after a failure or Ctrl-C.
 *
 * @returns the sheet, and what is left on the target, in words
 */
export async function observeTarget(
  options: TargetOptions,
  { say, ...asked }: Pick<ObserveOptions, 'corpus' | 'items' | 'patientMs' | 'maxWaitMs'> & { say(line: string): void },
): Promise<{ result: Observations; left: string[] }> {
  return workAtTarget(options, { say }, async ({ target, listener, ending, removeLeftovers }) => {
    await removeLeftovers()
    const setup = { allow: options.allow, seed: 1, random: systemRandom, listener, ending }
    return observe({ ...asked, ...setup, target: endedTarget(target, ending) })
  })
}

/** The sheet of one target. */
export function sheetOf({ observed: unsorted, outcomes, searched, calls, named }: Observations, corpus: Corpus) {
  const places = new Map(corpus.questions.map(({ id }, index) => [id, index]))
  const placeOf = ({ question }: Observed): number => places.get(question) ?? places.size
  const observed = unsorted.toSorted((one, other) => placeOf(one) - placeOf(other) || (one.at < other.at ? -1 : 1))
  const refusals = observed.flatMap(({ question, at, seen: [answer] }) =>
    question === 'errors/outcomes' && answer !== undefined ? [{ kind: nameOf(at), answer }] : [],
  )
  const facts = observed.flatMap(({ question, answer, at }): Fact[] => {
    const evidence = `"svc-conformance show ${at.split('#')[0]}"`
    return question === 'errors/outcomes' ? [] : [{ question, name: nameOf(at), value: answer, unit: null, evidence }]
  })
  const reached = new Set(observed.map(({ at }) => at.split('#')[0]))
  return {
    facts: [...facts, ...searched.facts],
    refusals: refusals.map(({ kind, answer: { outcome, status, code, message } }) => {
      return { kind, outcome, status, code, message }
    }),
    givesAway: givenAway(new Map(refusals.map(({ kind, answer }) => [kind, answer]))),
    /** Switches that make the reference server answer as the target does. */
    profile: { ...named, ...profileOf(observed, corpus), ...searched.profile },
    /** Cases that could not be asked, and why. */
    left: outcomes
      .filter(({ key }) => !reached.has(key))
      .map(({ key, problem }) => ({
        name: key,
        reason: problem === null ? 'nothing was observed' : problemText(problem),
      })),
    calls,
  }
}

/** `refresh/family#the used token again` → `the used token again`; `scopes/case/in-capitals` → `case, in capitals`. */
function nameOf(at: string): string {
  const [key = '', step] = at.split('#')
  const [, slug = '', row] = key.split('/').map((part) => part.replaceAll('-', ' '))
  return [step === undefined ? slug : row, step ?? row].filter((part) => part !== undefined).join(', ')
}

/** The switches whose value follows from what was seen: most by `tells` in the register, the others by `derived`. */
function profileOf(observed: readonly Observed[], { questions }: Corpus): Partial<Profile> {
  const seenAt = (at: string): SeenAnswer | undefined => observed.find((one) => one.at === at)?.seen[0]
  const told = questions.flatMap(({ switch: name, tells }) => {
    const answer = tells && seenAt(tells.at)
    if (tells === undefined || answer === undefined || answer.status === null) return []
    const { outcome } = answer
    return outcome === 'throttled' || outcome === 'unread' ? [] : [[name, tells[outcome]]]
  })
  return defined({ ...defined(Object.fromEntries(told)), ...derived(seenAt, observed) }) as Partial<Profile>
}

const isAccepted = (answer: SeenAnswer | undefined): boolean => answer?.outcome === 'accepted'

/** Switches that more than one outcome decides. Undefined: the calls that would tell were not made. */
function derived(
  at: (key: string) => SeenAnswer | undefined,
  observed: readonly Observed[],
): { [name in keyof Profile]?: Profile[name] | undefined } {
  const told = <T>(key: string, tell: (answer: SeenAnswer) => T): T | undefined => {
    const answer = at(key)
    return answer === undefined ? undefined : tell(answer)
  }
  const accepts = (key: string): boolean => isAccepted(at(key))
  const lives = at('limits/token-lifetimes')
  const opens = (key: string): boolean => accepts(key) && (at(key)?.scope?.length ?? 0) > 0
  const [lower, upper] = ['as-in-the-requests-of-the-document', 'as-in-its-result'].map((name) =>
    opens(`scopes/apikey-spelling/${name}`),
  )
  const unknownMethod = 'envelope/method-not-found'
  const codeOfUnknown = at(`${unknownMethod}/with-right-authorization`)?.code
  const places = observed
    .find(({ question }) => question === 'keys/limit-counts-initial')
    ?.seen.filter(isAccepted).length
  const grants = observed.flatMap(({ seen }) => seen).filter(({ accessLifeMs }) => accessLifeMs !== null)
  /** How much longer the pair after a refresh lives than that of a grant. */
  const longerMs = (name: 'accessLifeMs' | 'refreshLifeMs', key: string): number | undefined => {
    const [first, later] = [lives?.[name], at(key)?.[name]]
    return first && later ? later - first : undefined
  }
  const renewedMs = longerMs('refreshLifeMs', 'refresh/lifetime-renewed')
  const keptMs = longerMs('accessLifeMs', 'refresh/expires-in-kept')
  return {
    idTypes: told('envelope/id-types/null', (answer) => {
      if (isAccepted(answer)) return 'any'
      return accepts('envelope/id-types/a-text') ? 'strings-and-numbers' : 'integers'
    }),
    methodCheckedFirst: told('errors/codes/no-authorization', ({ code }) =>
      codeOfUnknown === undefined || codeOfUnknown === code
        ? undefined
        : at(`${unknownMethod}/without-authorization`)?.code === codeOfUnknown,
    ),
    initialKeyCounts: places === 10 || places === 9 ? places === 9 : undefined,
    extraResultMembers: told('keys/create-result-extras', ({ members }) => (members?.length ?? 2) > 2),
    listShape: told('solutions/list-result/no-params', ({ members }) => {
      const has = (word: string): boolean => members?.some((member) => member.split(':')[0] === word) === true
      return has('list') ? 'list' : has('solutions') ? 'solutions' : 'counted'
    }),
    authHeaderOnGrant: told('grants/authorization-header/wrong-credentials', (answer) => {
      if (isAccepted(answer)) return 'ignored'
      return accepts('grants/authorization-header/a-right-signature') ? 'judged' : 'refused'
    }),
    scopeEcho: told('grants/scope-echo', ({ scope }) => {
      const echo = scope?.join(',')
      if (!echo) return undefined
      return echo.includes('expiresIn')
        ? 'as-requested'
        : echo === 'context,solution'
          ? 'sorted'
          : 'without-restrictions'
    }),
    emptyScope: told('grants/empty-scope', (answer) => {
      if (!isAccepted(answer)) return 'refused'
      return opens('grants/empty-scope') ? 'whole-key' : 'nothing'
    }),
    scopeOnRefresh: told('grants/scope-with-refresh', (answer) => {
      if (!isAccepted(answer)) return 'refused'
      return answer.scope?.includes('context') ? 'ignored' : 'narrows'
    }),
    apikeySpelling: lower && upper ? 'both' : lower ? 'apikey' : upper ? 'apiKey' : undefined,
    tokenPrefix: { bearer: 'Bearer', token: 'Token', 'no-word': '', none: undefined }[
      (['bearer', 'token', 'no-word'] as const).find((name) => accepts(`tokens/prefix/${name}`)) ?? 'none'
    ],
    tokenLength: lives?.tokenLength ?? undefined,
    accessLifeMs: wholeSeconds(lives?.accessLifeMs),
    refreshLifeMs: wholeSeconds(lives?.refreshLifeMs),
    expiryRounding:
      grants.length < 2 ? undefined : grants.every(({ isRounded }) => isRounded) ? 'up-to-second' : 'none',
    refreshLifetime: renewedMs === undefined ? undefined : renewedMs < -600 ? 'kept' : 'new',
    expiresInKept: keptMs === undefined ? undefined : Math.abs(keptMs) > 2000,
    refusalStatus: told('errors/shape', ({ status }) => (status === 200 ? 'ok' : 'http')),
    errorBody: told('errors/shape', ({ code, message }) =>
      code !== null ? 'json-rpc' : message === null ? 'none' : 'text',
    ),
    errorId: told('errors/shape', ({ code }) => (code === null ? undefined : at('errors/id')?.id)),
    closeConnections: at('solutions/list-result/no-params')?.closes,
  }
}

const wholeSeconds = (ms: number | null | undefined): number | undefined =>
  typeof ms === 'number' ? Math.round(ms / 1000) * 1000 : undefined

/** Two credentials in words and by the kinds of their refusals, and where they are sent. */
const apart: readonly (readonly [one: string, kind: string, other: string, otherKind: string, where: string])[] = [
  [
    'an unknown key',
    'outcomes, basic credentials of an unknown key',
    'a wrong secret',
    'outcomes, bad basic credentials',
    'Basic',
  ],
  ['an unknown key', 'outcomes, an unknown key id', 'a wrong signature', 'outcomes, a bad signature', 'signature'],
  ['an unknown key', 'grant, unknown key', 'a wrong secret', 'grant, wrong secret', 'grant'],
  ['an old timestamp', 'outcomes, an old timestamp', 'a wrong signature', 'outcomes, a bad signature', 'signature'],
  ['an expired token', 'token, expired', 'a revoked token', 'token, revoked', 'token'],
  ['a revoked token', 'token, revoked', 'a token that never was', 'outcomes, a bad token', 'token'],
  ['a revoked token', 'refresh, revoked token', 'a token that never was', 'refresh, junk token', 'refresh'],
]

/** Whether a caller can tell two states of a credential apart, and by what. */
function givenAway(answers: ReadonlyMap<string, SeenAnswer>) {
  return apart.flatMap(([one, kind, other, otherKind, where]) => {
    const [first, second] = [answers.get(kind), answers.get(otherKind)]
    if (first === undefined || second === undefined || isAccepted(first) || isAccepted(second)) return []
    const by = (['status', 'code', 'message'] as const).find((name) => first[name] !== second[name]) ?? ('no' as const)
    return [{ one, other, where, by }]
  })
}

const day = 24 * 60 * 60_000
const secondsOf = (ms: number): number => Math.round(ms / 1000)
/** A nonce that is forgotten sooner protects nothing. In ms. */
const waitsMs = [5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000, 3_600_000]

interface Searched {
  facts: Fact[]
  profile: Partial<Profile>
}

/** Searches for the time window, the longest nonce and the largest body, and waits until a nonce is forgotten. Nothing lasts. */
async function search(talk: Conversation, maxWaitMs: number): Promise<Searched> {
  const { clock, root } = talk.instance
  const signed = (but: { timestamp: number } | { nonce: string }): Auth =>
    (root.kind === 'secret' ? { hmac: 'root', but } : { ecc: 'root', but }) as Auth
  const accepts = async (auth: Auth, bytes?: number): Promise<boolean> => {
    const { answer } = await listSolutions(talk, auth, bytes === undefined ? {} : { form: { size: bytes } })
    return answer.outcome === 'accepted'
  }
  let made = 0
  const nonceOf = (length: number): string =>
    `${++made}x${talk.run.random.bytes(8).join('x')}`.padStart(length, 'n').slice(-length)
  const side = (sign: -1 | 1) =>
    findLargest((ms) => accepts(signed({ timestamp: Math.round(serverNow(talk) + sign * ms) })), {
      from: 1000,
      limit: 400 * day,
      resolution: 50,
    })
  const past = await side(-1)
  const future = await side(1)
  const nonce = await findLargest((length) => accepts(signed({ nonce: nonceOf(length) })), {
    from: 16,
    limit: 4096,
    resolution: 1,
  })
  const plain: Auth = root.kind === 'secret' ? { basic: 'root' } : { ecc: 'root' }
  const body = await findLargest((bytes) => accepts(plain, bytes), {
    from: 1024,
    limit: 4 * 2 ** 20,
    resolution: 16 * 1024,
  })
  const window = 'signatures/time-window'
  const found = ({ unbounded }: typeof past): string =>
    unbounded ? 'the largest that was tried' : 'a larger one was refused'
  // An error of the measured clock lengthens one side and shortens the other.
  const widthMs = Math.abs(past.largest - future.largest) <= 2000 ? (past.largest + future.largest) / 2 : past.largest
  const offsetMs = secondsOf(serverNow(talk) - clock.now()) * 1000
  const memory = await memoryOfNonces(
    talk,
    waitsMs.filter((ms) => ms <= maxWaitMs),
    (text) => accepts(signed({ nonce: text })),
  )
  return {
    facts: [
      fact(window, 'time window, the past', [secondsOf(past.largest), 'seconds'], found(past)),
      fact(window, 'time window, the future', [secondsOf(future.largest), 'seconds'], found(future)),
      fact(window, 'clock ahead of ours', [secondsOf(offsetMs), 'seconds'], 'Date headers'),
      fact('signatures/nonce-length', 'longest nonce', [nonce.largest, 'characters'], found(nonce)),
      fact('limits/request-size', 'largest body', [body.largest, 'bytes'], found(body)),
      ...memory,
    ],
    profile: {
      timeWindowMs: secondsOf(widthMs) * 1000,
      clockOffsetMs: offsetMs,
      nonceMaxLength: nonce.largest,
      maxBodyBytes: body.largest,
    },
  }
}

/** Uses a nonce for each wait, and waits until one of them is taken again. */
async function memoryOfNonces(
  talk: Conversation,
  waits: readonly number[],
  accepts: (nonce: string) => Promise<boolean>,
): Promise<Fact[]> {
  const nonces = waits.map((ms) => `${talk.run.random.bytes(8).join('y')}w${ms}`)
  for (const nonce of nonces) await accepts(nonce)
  const { clock } = talk.instance
  const startMs = clock.now()
  let ms = 0
  for (const [index, waitMs] of waits.entries()) {
    await clock.sleep(Math.max(0, startMs + waitMs - clock.now()))
    if (await accepts(nonces[index] ?? '')) return [remembered(ms, `forgotten after ${secondsOf(waitMs)} s`)]
    ms = waitMs
  }
  return waits.length === 0 ? [] : [remembered(ms, 'as long as this waited')]
}

const remembered = (ms: number, evidence: string): Fact =>
  fact('signatures/nonce-reuse', 'a nonce is remembered', [secondsOf(ms), 'seconds at least'], evidence)

function fact(question: string, name: string, [value, unit]: [number, string], evidence: string): Fact {
  return { question, name, value, unit, evidence }
}

const compared = ['outcome', 'status', 'code', 'shape'] as const

/** The calls that two targets answer differently, in their order. */
export function differencesOf(first: Observations, second: Observations) {
  const others = new Map(second.observed.map((one) => [one.at, one]))
  const pairs = first.observed.flatMap(({ at, seen }) => {
    const other = others.get(at)?.seen ?? []
    return seen
      .slice(0, other.length)
      .map((answer, index) => ({ call: nameOf(at), a: comparable(answer), b: comparable(other[index] ?? answer) }))
  })
  const differences = pairs.flatMap(({ call, a, b }) => {
    const differs = compared.filter((name) => a[name] !== b[name])
    return differs.length === 0 ? [] : [{ call, in: differs, a, b }]
  })
  return { calls: pairs.length, differences }
}

/** `shape`: `{ list: array }`; null without a result. */
const comparable = ({ outcome, status, code, members }: SeenAnswer) => ({
  outcome,
  status,
  code,
  shape: members === null ? null : `{ ${members.join(', ')} }`,
})

/** Observes two targets one after the other. */
export async function diffTargets(
  a: Target,
  b: Target,
  options: Pick<ObserveOptions, 'corpus' | 'items' | 'allow' | 'patientMs' | 'seed'>,
) {
  const asked = { ...options, random: systemRandom, maxWaitMs: null }
  const first = await observe({ ...asked, target: a })
  const second = await observe({ ...asked, target: b })
  return { a: a.name, b: b.name, ...differencesOf(first, second) }
}
