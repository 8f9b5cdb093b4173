/** Histories: whether some order of concurrent calls, each between its start and its end, is one that the model allows. */
import { facts } from './facts.ts'
import { contradicts, judge } from './judge.ts'
import { learn } from './learn.ts'
import { readBody } from './parse.ts'
import type { Answer, Call, Span, State } from './types.ts'

export interface Exchange {
  readonly call: Call
  readonly answer: Answer
  readonly moment: Span
  /** Calls that differ in nothing that matters (nonce and id apart) share this; of them only the first to end is tried first. */
  readonly like: string
}

export type Explained =
  | { readonly is: 'explained'; readonly order: readonly number[]; readonly state: State }
  /** The shortest part of the history that has no order, as indexes. */
  | { readonly is: 'impossible'; readonly part: readonly number[] }
  /** The search was given up. */
  | { readonly is: 'undecided' }

/** A lost answer may have happened at any time after its start, so it never ends. */
const endOf = ({ answer, moment }: Exchange): number =>
  answer.kind === 'broken' || answer.kind === 'unread' ? Number.POSITIVE_INFINITY : moment.to

/** @param budget how many orders are tried at most */
export function explain(state: State, calls: readonly Exchange[], budget = 20_000): Explained {
  const found = search(state, calls, budget)
  if (found !== 'impossible') return found === 'undecided' ? { is: 'undecided' } : found
  let part = calls.map((_, index) => index)
  for (const index of [...part].reverse()) {
    // What changed something cannot be left out: calls after it may rest on it.
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

interface Node {
  readonly state: State
  readonly left: readonly number[]
  readonly order: readonly number[]
}

function search(
  state: State,
  calls: readonly Exchange[],
  budget: number,
): Extract<Explained, { is: 'explained' }> | 'impossible' | 'undecided' {
  const start = calls.map((_, index) => index).sort((a, b) => momentOf(calls, a) - momentOf(calls, b))
  const open: Node[] = [{ state, left: start, order: [] }]
  for (let tried = 0; open.length > 0; tried++) {
    if (tried > budget) return 'undecided'
    const node = open.pop() as Node
    if (node.left.length === 0) return { is: 'explained', order: node.order, state: node.state }
    open.push(...steps(node, calls))
  }
  return 'impossible'
}

const momentOf = (calls: readonly Exchange[], index: number): number => calls[index]?.moment.from ?? 0

/** The nodes behind one, the most likely last. A legal call that changes nothing is taken at once. */
function steps(node: Node, calls: readonly Exchange[]): Node[] {
  const next: Node[] = []
  const tried = new Set<string>()
  for (const index of minimal(node.left, calls)) {
    const exchange = calls[index] as Exchange
    if (tried.has(exchange.like)) continue
    tried.add(exchange.like)
    const { call, answer, moment } = exchange
    const known = facts(node.state, call, moment)
    const verdict = judge(node.state, known)
    if (contradicts(verdict, answer) && answer.kind !== 'broken') continue
    const state = learn(node.state, call, answer, moment, known)
    const left = node.left.filter((one) => one !== index)
    const taken: Node = { state, left, order: [...node.order, index] }
    // Unsound for open calls, since their answer teaches.
    if (verdict.is !== 'open' && !changes(call)) return [taken]
    next.push(taken)
  }
  return next.reverse()
}

/** The calls that nothing else must come before, those that end first in front. */
function minimal(left: readonly number[], calls: readonly Exchange[]): number[] {
  const end = (index: number): number => endOf(calls[index] as Exchange)
  let earliest = Number.POSITIVE_INFINITY
  for (const index of left) earliest = Math.min(earliest, end(index))
  return left.filter((index) => momentOf(calls, index) <= earliest).sort((a, b) => end(a) - end(b))
}
