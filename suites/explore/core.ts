/** The state of an exploration: a step becomes a call, and its answer updates the state. */
import type { Availability } from '../engine/conversation/target-facts.ts'
import { keyIdOf, learn } from '../engine/model/learn.ts'
import { isObject, isStrings, readBody } from '../engine/model/parse.ts'
import type { Span } from '../engine/model/sessions.ts'
import { shape } from '../engine/model/shape.ts'
import type { Answer, Call, Fact, Problem, State } from '../engine/model/state.ts'
import { headerBytes, nonceOf, Unmakeable } from '../engine/signer/changed-call.ts'
import type { Entry, Explorer, ExplorerOptions, Seen } from './explorer-types.ts'
import { type Rendered, render, resolveAll, type Surroundings } from './render.ts'
import type { CallStep, Value } from './step.ts'
import type { Response } from './wire.ts'

/** The state and counters of an explorer; only this file and run-burst.ts change them. */
export interface Core extends Availability {
  readonly options: ExplorerOptions
  readonly log: Entry[]
  readonly names: Map<string, Value>
  readonly lines: Map<string, number>
  readonly pairNames: string[]
  /** When wrong credentials were tried, for one key and for all. */
  readonly tries: Map<string | null, { readonly ms: number; readonly entry: number }[]>
  /** The problems of answers since the last check. */
  readonly problems: Problem[]
  state: State
  calls: number
  /** How many calls may be made in all. */
  limit: number
  /** Calls beyond the budget. */
  repeated: number
  lastId: number
  /** Broken answers in a row. */
  broken: number
  dateOffset: number | null
  /** Added to our time in signatures. */
  sentOffset: number
  shown: Explorer
}

function surroundings(core: Core): Surroundings {
  const { wire, operations, values, unique } = core.options
  const { scheme, tokenPrefix, uri } = core.state.terms
  return {
    scheme,
    tokenWord: tokenPrefix ?? 'Bearer',
    uri,
    url: wire.url,
    operations,
    unique,
    shortSessionNames: core.state.terms.longSessionNames === false,
    lookUp: (name) => core.names.get(name),
    nextId: () => ++core.lastId,
    nextNonce: (kind) => nonceOf(kind, values),
    timestamp: () => Math.floor(wire.now() + core.sentOffset),
  }
}

const addressOf = ({ shown: { addresses } }: Core, step: CallStep) =>
  addresses.find(({ name }) => name === step.from) ?? addresses[0] ?? { local: undefined, seen: '' }

export const callOf = (core: Core, step: CallStep, { authorization, body, breaks }: Rendered): Call => ({
  authorization,
  body,
  breaks,
  from: addressOf(core, step).seen,
  inChunks: step.inChunks,
})

export function tryRender(core: Core, step: CallStep): Rendered | null {
  try {
    return render(step, surroundings(core))
  } catch (error) {
    if (error instanceof Unmakeable) return null
    throw error
  }
}

export const now = ({ options: { wire } }: Core): Span => ({ from: wire.now(), to: wire.now() })

export async function transmit(
  core: Core,
  step: CallStep,
  { authorization, body }: Rendered,
): Promise<{ response: Response; span: Span }> {
  const { wire } = core.options
  const from = wire.now()
  core.calls += 1
  const response = await wire.send({
    authorization: authorization === undefined ? undefined : headerBytes(authorization),
    body,
    from: addressOf(core, step).local,
    connection: step.connection ?? 0,
    inChunks: step.inChunks,
  })
  const span = { from, to: wire.now() }
  const date = response.kind === 'answer' ? Date.parse(response.date ?? '') : Number.NaN
  if (!Number.isNaN(date)) core.dateOffset = date - span.to
  return { response, span }
}

/** Learns from an answer: returns the next state and the named values of its result. */
export function takeAnswer(
  core: Core,
  { step, call: made, answer, span }: Omit<Seen, 'verdict'>,
  known?: readonly Fact[],
): void {
  core.problems.push(...shape(core.state, made, answer, span))
  core.state = learn(core.state, made, answer, span, known)
  nameResult(core, step, answer, made.authorization)
}

function nameResult(core: Core, step: CallStep, answer: Answer, header: string | undefined): void {
  const { as, method, params } = step
  const { names, state, lines, pairNames } = core
  if (as === undefined || answer.kind !== 'accepted') return
  const result = textsOf(answer.result)
  if (result === null) return
  const own = names.get(`${as}-own`)
  const seed = own?.seed === undefined ? {} : { seed: own.seed, publicKey: own.publicKey ?? '' }
  const label =
    method === 'manager/createApiKey' ? { name: String(resolveAll(params.name ?? '', surroundings(core))) } : {}
  const sent = header === undefined ? {} : { header, signature: header.split(';').at(-1) ?? '' }
  names.set(as, { ...result, ...label, ...seed, ...sent })
  if (method === 'manager/createApiKey') core.options.onKey({ ...result, ...label, ...seed })
  const index = typeof result.accessToken === 'string' ? state.access.get(result.accessToken) : undefined
  const line = index === undefined ? undefined : state.pairs.get(index)?.line
  if (line === undefined) return
  if (!lines.has(as)) pairNames.push(as)
  lines.set(as, line)
}

/** The members of a result that later steps use. A server may send anything in their place, and much beside them. */
function textsOf(result: unknown): Value | null {
  if (!isObject(result)) return null
  const texts = members.flatMap((name) => (typeof result[name] === 'string' ? [[name, result[name]]] : []))
  const { scope } = result
  return { ...Object.fromEntries(texts), ...(isStrings(scope) ? { scope } : {}) }
}

const members = ['id', 'secret', 'accessToken', 'refreshToken', 'tokenType']

/** Counts a call that was not right, for each key and for all: after some of them a server may lock a key or an address. */
export function countTry({ state, tries, log }: Core, { verdict, answer, call: made, span }: Seen): void {
  if (verdict.is === 'accepted' || answer.kind === 'accepted') return
  // Right but for the doubt about its key: no attempt to guess a secret.
  if (verdict.is === 'open' && verdict.requirement === 'keys/created-key-works') return
  const id = keyIdOf(state, made, readBody(made.body)) ?? ''
  for (const who of [id, null]) {
    const times = tries.get(who) ?? []
    tries.set(who, times)
    times.push({ ms: span.to, entry: log.length })
  }
}

/** The part of an answer that the log keeps. A result may be long, and its values were learned when it came. */
export function forLog(seen: Seen): Seen {
  const { answer } = seen
  if (answer.kind !== 'accepted') return seen
  return { ...seen, answer: { ...answer, result: undefined, jsonrpc: undefined, id: undefined } }
}

/** Reports the problems of the latest answers. */
export function reportProblems({ problems, log, shown }: Core): void {
  const [entry, script] = [log.length - 1, shown.script]
  for (const problem of problems.splice(0))
    shown.report({ ...problem, kind: 'shape', fact: problem.requirement, entry, script })
}
