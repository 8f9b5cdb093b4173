/** Sends steps to a target, lets the model judge every answer, and keeps what was found. */
import {
  type Answer,
  type Call,
  contradicts,
  type Exchange,
  explain,
  type Fact,
  facts,
  initialState,
  judge,
  learn,
  type Problem,
  type Span,
  shape,
  type Verdict,
} from '../engine/model/index.ts'
import { keyIdOf } from '../engine/model/learn.ts'
import { readBody } from '../engine/model/parse.ts'
import type { Random } from '../engine/random.ts'
import { toBase64 } from '../engine/signer/bytes.ts'
import { countAnswer } from './answer.ts'
import { contradiction } from './describe-step.ts'
import { type Entry, type Explorer, type ExplorerOptions, type Seen, TargetGone } from './explorer-types.ts'
import { headerBytes, type Rendered, render, resolveAll, Unmakeable } from './render.ts'
import type { BurstStep, CallStep, Value } from './step.ts'
import type { Response } from './wire.ts'

const mostThrottled = 6

export function createExplorer(options: ExplorerOptions): Explorer {
  const { wire, operations, random, unique } = options
  let state = initialState(options.terms, options.rootKey)
  let calls = 0
  let lastId = 0
  let broken = 0
  let dateOffset: number | null = null
  let sentOffset = 0
  const tries = new Map<string | null, number>()
  const names = new Map<string, Value>([['root', options.root]])
  const lines = new Map<string, number>()
  for (const { name, value, key } of options.knownKeys) {
    names.set(name, value)
    if (value.publicKey !== undefined) names.set(`${name}-own`, { publicKey: value.publicKey })
    state = { ...state, keys: new Map(state.keys).set(key.id, key) }
  }
  const log: Entry[] = []

  const around = () => ({
    scheme: state.terms.scheme,
    tokenPrefix: state.terms.tokenPrefix ?? 'Bearer',
    uri: state.terms.uri,
    operations,
    unique,
    lookUp: (name: string) => names.get(name),
    nextId: () => ++lastId,
    nextNonce: (kind: CallStep['nonce']) => nonceOf(kind, random),
    timestamp: () => Math.floor(wire.now() + sentOffset),
  })

  const addressOf = (step: CallStep) =>
    explorer.addresses.find(({ name }) => name === step.from) ?? explorer.addresses[0] ?? { local: undefined, seen: '' }

  const callOf = (step: CallStep, { authorization, body, breaks }: Rendered): Call => ({
    authorization,
    body,
    breaks,
    from: addressOf(step).seen,
  })

  const tryRender = (step: CallStep): Rendered | null => {
    try {
      return render(step, around())
    } catch (error) {
      if (error instanceof Unmakeable) return null
      throw error
    }
  }

  const now = (): Span => ({ from: wire.now(), to: wire.now() })

  function foresee(step: CallStep): Verdict | null {
    const rendered = tryRender(step)
    if (rendered === null) return null
    return judge(state, facts(state, callOf(step, rendered), now()))
  }

  async function transmit(step: CallStep, rendered: Rendered): Promise<{ response: Response; moment: Span }> {
    const { authorization, body } = rendered
    const from = wire.now()
    calls += 1
    const response = await wire.send({
      authorization: authorization === undefined ? undefined : headerBytes(authorization),
      body,
      from: addressOf(step).local,
      connection: step.connection ?? 0,
    })
    const moment = { from, to: wire.now() }
    const date = response.kind === 'answer' ? Date.parse(response.date ?? '') : Number.NaN
    if (!Number.isNaN(date)) dateOffset = date - moment.to
    return { response, moment }
  }

  /** Sends a step, signed anew where the target throttles or had closed the connection. */
  async function exchange(
    step: CallStep,
    first: Rendered,
    planned: Call,
  ): Promise<{ call: Call; answer: Answer; moment: Span }> {
    let rendered = first
    for (let tried = 0; ; tried++) {
      const { response, moment } = await transmit(step, rendered)
      const counted = countAnswer(response)
      const again =
        response.kind === 'none' &&
        response.stale &&
        tried === 0 &&
        step.method !== 'manager/auth' &&
        step.method !== 'manager/createApiKey'
      if (counted.kind !== 'throttled' && !again)
        return { call: rendered === first ? planned : callOf(step, rendered), answer: counted, moment }
      if (counted.kind === 'throttled') {
        if (tried >= mostThrottled) return { call: callOf(step, rendered), answer: { kind: 'unread' }, moment }
        await wire.sleep(counted.waitMs)
      }
      rendered = tryRender(step) ?? rendered
    }
  }

  async function call(step: CallStep, only?: Verdict['is']): Promise<Seen | null> {
    if (calls >= options.maxCalls) return null
    const rendered = tryRender(step)
    if (rendered === null) return null
    const planned = callOf(step, rendered)
    const known = facts(state, planned, now())
    const foreseen = judge(state, known)
    if (only !== undefined && foreseen.is !== only) return null
    const { call: made, answer, moment } = await exchange(step, rendered, planned)
    const same = made === planned
    const late = !same || moment.to - moment.from > 50
    const certain = late ? facts(state, made, moment) : known
    const seen: Seen = { step, call: made, verdict: judge(state, certain), answer, moment }
    take(seen, certain)
    countTry(seen)
    log.push({ step, seen: [seen], script: explorer.script, at: moment.from })
    findIn(seen)
    await noticeBroken(answer)
    return seen
  }

  function countTry({ verdict, answer, call: made }: Seen): void {
    if (verdict.is === 'accepted' || answer.kind === 'accepted') return
    const id = keyIdOf(state, made, readBody(made.body)) ?? ''
    for (const who of [id, null]) tries.set(who, (tries.get(who) ?? 0) + 1)
  }

  function take({ step, call: made, answer, moment }: Seen, known?: readonly Fact[]): void {
    problems.push(...shape(state, made, answer, moment))
    state = learn(state, made, answer, moment, known)
    nameResult(step, answer, made.authorization)
  }
  const problems: Problem[] = []

  function nameResult({ as, method, params }: CallStep, answer: Answer, header: string | undefined): void {
    if (as === undefined || answer.kind !== 'accepted') return
    const result = answer.result as Value
    if (result === null || typeof result !== 'object') return
    const own = names.get(`${as}-own`)
    const seed = own?.seed === undefined ? {} : { seed: own.seed, publicKey: own.publicKey ?? '' }
    const label = method === 'manager/createApiKey' ? { name: String(resolveAll(params.name ?? '', around())) } : {}
    names.set(as, {
      ...result,
      ...label,
      ...seed,
      ...(header === undefined ? {} : { header, signature: header.split(';').at(-1) ?? '' }),
    })
    const index = typeof result.accessToken === 'string' ? state.access.get(result.accessToken) : undefined
    const line = index === undefined ? undefined : state.pairs.get(index)?.line
    if (line !== undefined) lines.set(as, line)
  }

  function findIn(seen: Seen): void {
    const { verdict, answer, step } = seen
    const entry = log.length - 1
    const script = explorer.script
    for (const problem of problems.splice(0))
      explorer.report({ ...problem, kind: 'shape', fact: problem.requirement, entry, script })
    if (!contradicts(verdict, answer)) return
    const kind = answer.kind === 'accepted' ? 'accepted' : answer.kind === 'refused' ? 'refused' : 'broken'
    const message = contradiction(step, verdict, answer)
    const { requirement, level, fact } = verdict
    explorer.report({ requirement, level, message, kind, fact: fact.about ?? requirement, entry, script })
  }

  /** A target that answers nothing at all any more ends the exploration. */
  async function noticeBroken(answer: Answer): Promise<void> {
    if (answer.kind !== 'broken') {
      broken = 0
      return
    }
    broken += 1
    if (broken >= 8) throw new TargetGone(answer.reason)
  }

  async function burst(step: BurstStep): Promise<(Seen | null)[]> {
    const made = step.calls.map((one, lane) => {
      const rendered = tryRender(one)
      return rendered === null
        ? null
        : { step: { ...one, connection: step.on === 'new' ? ('new' as const) : lane + 1 }, rendered }
    })
    if (calls + made.length > options.maxCalls) return []
    const before = state
    const sent = await Promise.all(
      made.map(async (one) => {
        if (one === null) return null
        const { response, moment } = await transmit(one.step, one.rendered)
        const counted = countAnswer(response)
        const answer: Answer = counted.kind === 'throttled' ? { kind: 'unread' } : counted
        return { step: one.step, call: callOf(one.step, one.rendered), answer, moment }
      }),
    )
    const happened = sent.filter((one) => one !== null)
    const seen = happened.map((one) => ({ ...one, verdict: judge(before, facts(before, one.call, one.moment)) }))
    log.push({ step, seen, script: explorer.script, at: wire.now() })
    explainBurst(seen)
    problems.splice(0)
    return seen
  }

  function explainBurst(seen: readonly Seen[]): void {
    const history: Exchange[] = seen.map(({ step, call: made, answer, moment }) => ({
      call: made,
      answer,
      moment,
      like: JSON.stringify([step.method, step.params, step.auth, step.change, answer.kind, step.as === undefined]),
    }))
    const found = explain(state, history)
    const entry = log.length - 1
    const order = found.is === 'explained' ? found.order : byEnd(seen)
    let first = true
    for (const index of order) {
      const one = seen[index]
      if (one === undefined) continue
      const verdict = judge(state, facts(state, one.call, one.moment))
      if (found.is === 'impossible' && first && contradicts(verdict, one.answer)) {
        first = false
        const part = `no order of the ${found.part.length} calls at once is one that the document allows`
        const message = `${contradiction(one.step, verdict, one.answer)}: ${part}`
        const { requirement, level } = verdict
        explorer.report({
          requirement,
          level,
          message,
          kind: 'history',
          fact: 'history',
          entry,
          script: explorer.script,
        })
      }
      take(one)
      for (const problem of problems.splice(0))
        explorer.report({ ...problem, kind: 'shape', fact: problem.requirement, entry, script: explorer.script })
    }
  }

  const explorer: Explorer = {
    options,
    log,
    names,
    lines,
    state: () => state,
    calls: () => calls,
    setTerms: (terms) => {
      state = { ...state, terms: { ...state.terms, ...terms } }
    },
    setSignatureClock: (offsetMs, isSure) => {
      sentOffset = offsetMs
      state = { ...state, signatureClock: isSure ? offsetMs : null }
    },
    dateOffset: () => dateOffset,
    triesOf: (id) => tries.get(id) ?? 0,
    foresee,
    call,
    burst,
    wait: async (ms) => {
      log.push({ step: { do: 'wait', ms }, seen: [], script: explorer.script, at: wire.now() })
      await wire.sleep(ms)
    },
    isOver: (reserve = { calls: 0, ms: 0 }) =>
      calls + reserve.calls >= options.maxCalls || options.timeLeftMs() <= reserve.ms,
    addresses: options.addresses,
    script: '',
    report: () => {},
  }
  return explorer
}

function nonceOf(kind: CallStep['nonce'], random: Random): string {
  const bytes = random.bytes(24)
  if (kind === 'digits') return `00${Array.from(bytes.slice(0, 16), (byte) => byte % 10).join('')}`
  if (kind === 'padded') return toBase64(bytes.slice(0, 16))
  if (kind === 'letters')
    return Array.from(bytes, (byte) => String.fromCharCode((byte & 32 ? 65 : 97) + (byte % 26))).join('')
  return toBase64(bytes)
}

function byEnd(seen: readonly Seen[]): number[] {
  return seen.map((_, index) => index).sort((a, b) => (seen[a]?.moment.to ?? 0) - (seen[b]?.moment.to ?? 0))
}
