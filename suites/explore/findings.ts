/** Turns a contradiction into a finding for readers: a sentence, the shortest sequence, and a scenario to run again. */

import type { Requirement } from '../engine/fixture/fixture-types.ts'
import { findPair } from '../engine/model/facts-of-token.ts'
import type { Call, State } from '../engine/model/index.ts'
import { keyIdOf } from '../engine/model/learn.ts'
import { isObject, readBody } from '../engine/model/parse.ts'
import { printable } from '../engine/printable.ts'
import { createRedactor } from '../engine/redact.ts'
import type { Finding, HistoryCall } from '../report/report.ts'
import { basic, ecc, hmac, list } from './calls.ts'
import { describeStep } from './describe-step.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { fixtureText } from './fixture-text.ts'
import { closure, type Reproduced, reproduce } from './shrink.ts'
import type { Step } from './step.ts'

export type Found = Omit<Finding, 'known'>

export interface Findings {
  readonly found: Found[]
  take(candidate: Candidate): Promise<void>
  /** How often each was seen, including the first time. */
  readonly seen: ReadonlyMap<string, number>
}

/** How many findings are shortened; others keep their first sequence. */
const mostShrunk = 12

export function collectFindings(x: Explorer, requirements: readonly Requirement[]): Findings {
  const found: Found[] = []
  const seen = new Map<string, number>()
  return {
    found,
    seen,
    take: async (candidate) => {
      const id = idOf(candidate)
      if (await isLocked(x, candidate)) return
      const count = (seen.get(id) ?? 0) + 1
      seen.set(id, count)
      if (count > 1) return
      const shrunk =
        found.length < mostShrunk
          ? await reproduce(x, candidate)
          : { steps: closure(x, candidate.entry), outcomes: [], failed: 1, tries: 1 }
      // Repeating it may have locked the key, so that it only seems to repeat.
      if (isUnproved(candidate, shrunk) || (await isLocked(x, candidate))) {
        seen.delete(id)
        return
      }
      found.push(findingOf(x, candidate, shrunk, requirements))
    },
  }
}

/** A server may lock a key, or an address, after this many wrong attempts. */
const triesOfLock = { key: 5, address: 20 }

/** Whether the key of a refused call is refused everywhere after wrong attempts, which is open: it may be locked. */
async function isLocked(x: Explorer, { kind, entry }: Candidate): Promise<boolean> {
  if (kind === 'accepted' || kind === 'shape') return false
  const state = x.state()
  const ids = (x.log[entry]?.seen ?? []).flatMap(({ call }) => keyBehind(state, call) ?? [])
  for (const id of [...new Set([...ids, state.root])]) {
    const isAddress = id === state.root && !ids.includes(id)
    const enough = isAddress ? x.triesOf(null) >= triesOfLock.address : x.triesOf(id) >= triesOfLock.key
    if (enough && (await isRefusedEverywhere(x, id))) return true
  }
  return false
}

/** The key of a call, direct or through a token. */
function keyBehind(state: State, call: Call): string | undefined {
  const body = readBody(call.body)
  const own = keyIdOf(state, call, body)
  if (own !== undefined) return own
  const refreshToken = isObject(body.params) ? body.params.refreshToken : undefined
  const token = (call.authorization ?? '').split(' ').at(-1) ?? ''
  const pair =
    typeof refreshToken === 'string' ? findPair(state, refreshToken, 'refresh') : findPair(state, token, 'access')
  return pair?.pair.key
}

async function isRefusedEverywhere(x: Explorer, id: string): Promise<boolean> {
  const [name, value] = [...x.names].find(([, one]) => one.id === id) ?? []
  if (name === undefined || x.state().keys.get(id)?.scope?.includes('solution') === false) return false
  const before = x.report
  x.report = () => {}
  try {
    const ways = value?.seed === undefined ? [basic(name), hmac(name)] : [ecc(name)]
    for (const auth of ways)
      if ((await x.call(list(auth, { connection: 'new' })))?.answer.kind === 'accepted') return false
    return true
  } finally {
    x.report = before
  }
}

/** A right call that was refused once and then always accepted, or only after many wrong calls, may have met a limit or a lock: both are open. */
function isUnproved({ kind }: Candidate, { failed, tries, outcomes }: Reproduced): boolean {
  if (kind !== 'refused' && kind !== 'broken') return false
  const wrongTries = outcomes.slice(0, -1).filter((outcome) => outcome === 'refused').length
  return (tries > 1 && failed === 0) || wrongTries >= triesOfLock.key
}

/** `found/REQUIREMENT/FACT`. */
function idOf({ requirement, kind, fact }: Candidate): string {
  const slug = fact
    .replace(/^.*\//, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  return `found/${requirement}/${kind === 'accepted' ? 'let-in' : kind}${slug === '' || slug === kind || requirement.endsWith(slug) ? '' : `-${slug}`}`
}

function findingOf(
  x: Explorer,
  candidate: Candidate,
  { steps, outcomes, failed, tries }: Reproduced,
  requirements: readonly Requirement[],
): Found {
  const { requirement, level, kind } = candidate
  // It may show what a server sent, which knows secrets.
  const message = printable(createRedactor(secretsOf(x)).text(candidate.message))
  const { text: sentence = '', part = '?' } = requirements.find(({ id }) => id === requirement) ?? {}
  const expect = kind === 'accepted' ? 'refused' : 'accepted'
  return {
    id: idOf(candidate),
    case: candidate.script.replace(/^walk\/.*/, 'walk'),
    requirement,
    level,
    message,
    steps: stepLines(steps, outcomes, kind === 'shape' ? 'accepted, with a wrong result' : kind),
    reproduced: { failed, tries },
    fixture: kind === 'shape' ? null : fixtureText({ requirement, part, sentence, message, steps, outcomes, expect }),
    exchanges: [],
    history: kind === 'history' ? historyOf(x, candidate) : [],
  }
}

/** Every secret of this exploration. */
function* secretsOf(x: Explorer): Generator<string> {
  const { keys, access, refresh } = x.state()
  yield x.options.root.secret ?? ''
  for (const { secret } of keys.values()) yield secret
  yield* access.keys()
  yield* refresh.keys()
}

function stepLines(steps: readonly Step[], outcomes: readonly string[], last: string): string[] {
  return steps.map((step, index) => {
    const outcome = index === steps.length - 1 ? last : (outcomes[index] ?? 'accepted')
    if (step.do === 'wait') return `wait ${Math.round(step.ms)} ms`
    if (step.do === 'burst') return `${step.calls.length} calls at once: ${step.calls.map(describeStep).join('; ')}`
    return `${describeStep(step)}${step.as === undefined ? '' : ` as ${step.as}`}: ${outcome}`
  })
}

function historyOf(x: Explorer, { entry }: Candidate): HistoryCall[] {
  const seen = x.log[entry]?.seen ?? []
  const start = Math.min(...seen.map(({ span }) => span.from))
  return seen.map(({ step, span, answer }, lane) => ({
    connection: `${lane + 1}`,
    startMs: span.from - start,
    endMs: span.to - start,
    call: describeStep(step),
    answer: answer.kind,
  }))
}
