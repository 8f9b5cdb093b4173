/** Histories: is there an order of concurrent calls, each between its start and its end, that the model allows? */
import { contradicts, facts, judge } from './judge.ts'
import { learn } from './learn.ts'
import { readBody } from './read-call.ts'
import type { Span } from './sessions.ts'
import type { Answer, Call, State } from './state.ts'

export interface Exchange {
  readonly call: Call
  readonly answer: Answer
  readonly span: Span
  /** Its start and its end among all, where that is known better than by the clock. */
  readonly order?: Span
  /** Calls that differ only in nonce and id share this; of them only the first to end is tried first. */
  readonly like: string
}

type Explained =
  | { readonly is: 'explained'; readonly order: readonly number[]; readonly state: State }
  /** The shortest part of the history that has no order, as indexes. */
  | { readonly is: 'impossible'; readonly part: readonly number[] }
  /** The search was given up. */
  | { readonly is: 'undecided' }

/** A lost answer may have happened at any time after its start, so it never ends. */
const endOf = ({ answer, span, order = span }: Exchange): number =>
  answer.kind === 'broken' || answer.kind === 'unread' ? Number.POSITIVE_INFINITY : order.to

/** @param budget how many orders are tried at most */
export function explain(state: State, calls: readonly Exchange[], budget = 20_000): Explained {
  const found = search(state, calls, budget)
  if (found !== 'impossible') return found === 'undecided' ? { is: 'undecided' } : found
  let part = calls.map((_, index) => index)
  for (const index of [...part].reverse()) {
    // A call that changed something cannot be left out, because later calls may rest on it.
    if (!isHarmless(calls[index])) continue
    const rest = part.filter((one) => one !== index)
    const shorter = rest.flatMap((one) => calls[one] ?? [])
    if (search(state, shorter, budget) === 'impossible') part = rest
  }
  return { is: 'impossible', part }
}

const isHarmless = (exchange: Exchange | undefined): boolean =>
  exchange !== undefined && (exchange.answer.kind === 'refused' || !changes(exchange.call))

const changes = (call: Call): boolean => String(readBody(call.body).method).startsWith('manager/')

type Found = Extract<Explained, { is: 'explained' }> | 'impossible' | 'undecided'

interface Choice {
  readonly index: number
  /** What the model knows after this choice. Computed only if the choice is tried, as most never are. */
  learned(): State
}

/** Goes through the orders depth first; a legal call that changes nothing is taken at once. */
function search(start: State, calls: readonly Exchange[], budget: number): Found {
  const pending = pendingCalls(calls)
  const order: number[] = []
  /** The choices that are not tried yet at each call of the order. */
  const left: Choice[][] = []
  let state = start
  for (let tried = 0; order.length < calls.length; tried++) {
    if (tried > budget + calls.length) return 'undecided'
    let choices = choicesOf(state, calls, pending.minimal())
    while (choices.length === 0) {
      const back = left.pop()
      if (back === undefined) return 'impossible'
      pending.putBack(order.pop() as number)
      choices = back
    }
    const [next, ...others] = choices as [Choice, ...Choice[]]
    left.push(others)
    pending.take(next.index)
    order.push(next.index)
    state = next.learned()
  }
  return { is: 'explained', order, state }
}

/** What may come next, the most likely first. */
function choicesOf(state: State, calls: readonly Exchange[], minimal: readonly number[]): Choice[] {
  const choices: Choice[] = []
  const unclear: Choice[] = []
  const tried = new Set<string>()
  for (const index of minimal) {
    const exchange = calls[index] as Exchange
    if (tried.has(exchange.like)) continue
    tried.add(exchange.like)
    const { call, answer, span } = exchange
    const known = facts(state, call, span)
    const verdict = judge(state, known)
    if (contradicts(verdict, answer) && answer.kind !== 'broken') continue
    const choice: Choice = { index, learned: () => learn(state, call, answer, span, known) }
    // Unsound for open calls, because the model learns from their answers.
    if (verdict.is !== 'open' && !changes(call)) return [choice]
    // A call beside it may be why it is refused. After that call the refusal is explained, and teaches nothing wrong.
    if (verdict.is === 'open' && answer.kind === 'refused') unclear.push(choice)
    else choices.push(choice)
  }
  return [...choices, ...unclear]
}

/** The calls that are not taken yet, by their start. */
function pendingCalls(calls: readonly Exchange[]) {
  const starts = Float64Array.from(calls, ({ span, order = span }) => order.from)
  const ends = Float64Array.from(calls, endOf)
  const startOf = (index: number): number => starts[index] as number
  const endAt = (index: number): number => ends[index] as number
  const byStart = Uint32Array.from(calls.keys()).sort((a, b) => startOf(a) - startOf(b))
  const place = new Uint32Array(calls.length)
  byStart.forEach((index, at) => {
    place[index] = at
  })
  const taken = new Uint8Array(calls.length)
  let first = 0
  return {
    take: (index: number): void => {
      taken[index] = 1
      while (first < byStart.length && taken[byStart[first] as number] === 1) first += 1
    },
    putBack: (index: number): void => {
      taken[index] = 0
      first = Math.min(first, place[index] as number)
    },
    /** The calls that no other call must precede, the first to end in front. */
    minimal: (): number[] => {
      let earliest = Number.POSITIVE_INFINITY
      const found: number[] = []
      for (let at = first; at < byStart.length; at++) {
        const index = byStart[at] as number
        if (startOf(index) > earliest) break
        if (taken[index] === 1) continue
        found.push(index)
        earliest = Math.min(earliest, endAt(index))
      }
      return found.filter((index) => startOf(index) <= earliest).sort((a, b) => endAt(a) - endAt(b))
    },
  }
}
