/** Mistakes that depend on the request at hand: which member was missing, which order the members had, which time was signed. */
import { isObject, type JsonObject } from '../engine/json.ts'
import { jsonOf } from '../engine/signer/bodies.ts'
import type { SignedParts } from '../engine/signer/draft.ts'
import { ofBodyValue, ofText } from '../engine/signer/draft-changes.ts'
import { type KnownMistake, mistakeOf } from '../engine/signer/mistakes.ts'

const oneTime = 'Read the clock once for each request, and put this timestamp into the data and into the header'

/** More members than this are not put in every order. */
const mostOrdered = 5
const mostMembers = 12
const nearIds = 5

/** What may have been signed instead of this body, likeliest first. */
export function guessesAtBody(body: Uint8Array): KnownMistake[] {
  const value = jsonOf(body)
  if (!isObject(value)) return []
  return [...missingMembers(value), ...otherIds(value), ...otherOrders(value)]
}

/** @param offsets in milliseconds */
export function guessesAtTime(
  { timestamp }: Pick<SignedParts, 'timestamp'>,
  offsets: Iterable<number>,
): KnownMistake[] {
  if (!/^\d{10,16}$/.test(timestamp)) return []
  return Array.from(offsets, (offset) => otherTime(timestamp, offset))
}

/** Every millisecond nearby, then whole seconds, then the hours and half hours between time zones. */
export function offsetsNearby(ms: number): number[] {
  const steps = (count: number, width: number) =>
    Array.from({ length: count }, (_, at) => [(at + 1) * width, -(at + 1) * width]).flat()
  return [...steps(ms, 1), ...steps(60, 1000).filter((offset) => Math.abs(offset) > ms), ...steps(28, 1_800_000)]
}

function otherTime(timestamp: string, offset: number): KnownMistake {
  const distance = Math.abs(offset) < 1000 ? `${Math.abs(offset)} ms` : `${Math.abs(offset) / 1000} s`
  const isZone = Math.abs(offset) >= 1_800_000
  const when = `the data have a timestamp that is ${distance} ${offset < 0 ? 'before' : 'after'} the one of the header`
  const signed = String(Number(timestamp) + offset)
  return mistakeOf(
    'data/with-another-timestamp',
    when,
    ofText('timestamp', () => signed),
    {
      requirement: 'signatures/timestamp',
      fix: isZone ? 'Use milliseconds since 1970 in UTC, in the data and in the header alike' : oneTime,
    },
  )
}

/** A change of the parsed body. */
function ofValue(word: string, when: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return mistakeOf(`data/${word}`, when, ofBodyValue(change), { requirement: 'signatures/request-body' })
}

/** Signed before some members were added: any choice of the outer ones, and each one of the params. */
function missingMembers(value: JsonObject): KnownMistake[] {
  const names = Object.keys(value)
  const choices = names.length <= mostOrdered ? subsetsOf(names) : names.slice(0, mostMembers).map((name) => [name])
  const params = value.params
  const inner = isObject(params) ? Object.keys(params).slice(0, mostMembers) : []
  return [
    ...choices
      .filter((dropped) => dropped.length > 0 && dropped.length < names.length)
      .sort((one, other) => one.length - other.length)
      .map((dropped) => withoutMembers(dropped, (whole) => leaveOut(whole, dropped))),
    ...inner.map((name) =>
      withoutMembers([`params.${name}`], (whole) => ({
        ...whole,
        params: isObject(whole.params) ? leaveOut(whole.params, [name]) : (whole.params ?? null),
      })),
    ),
  ]
}

function withoutMembers(names: readonly string[], change: (value: JsonObject) => JsonObject): KnownMistake {
  const quoted = names.map((name) => `"${name}"`).join(', ')
  return ofValue('without-body-member', `the body is signed before ${quoted} is added to it`, change)
}

function otherOrders(value: JsonObject): KnownMistake[] {
  const params = value.params
  const outer = ordersOf(Object.keys(value)).map((order) =>
    inOrder(order.join(', '), (whole) => reordered(whole, order)),
  )
  const inner = isObject(params)
    ? ordersOf(Object.keys(params)).map((order) =>
        inOrder(`params: ${order.join(', ')}`, (whole) => ({
          ...whole,
          params: isObject(whole.params) ? reordered(whole.params, order) : (whole.params ?? null),
        })),
      )
    : []
  return [...outer, ...inner]
}

function inOrder(order: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return ofValue('with-another-member-order', `the body is signed with its members in another order (${order})`, change)
}

function otherIds({ id }: JsonObject): KnownMistake[] {
  if (typeof id !== 'number' || !Number.isInteger(id)) return []
  const near = Array.from({ length: nearIds }, (_, at) => [id - at - 1, id + at + 1]).flat()
  return [...new Set([...near, 0, 1])]
    .filter((other) => other !== id)
    .map((other) =>
      ofValue('with-another-id', `the body is signed with the id ${other} and sent with ${id}`, (whole) => ({
        ...whole,
        id: other,
      })),
    )
}

function leaveOut(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
}

function reordered(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]))
}

function subsetsOf([first, ...rest]: readonly string[]): string[][] {
  if (first === undefined) return [[]]
  const withoutFirst = subsetsOf(rest)
  return [...withoutFirst, ...withoutFirst.map((set) => [first, ...set])]
}

/** Every order except the given one; empty if there are too many. */
function ordersOf(names: readonly string[]): string[][] {
  return names.length > mostOrdered ? [] : permutationsOf(names).slice(1)
}

function permutationsOf(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]]
  return names.flatMap((name, at) =>
    permutationsOf([...names.slice(0, at), ...names.slice(at + 1)]).map((rest) => [name, ...rest]),
  )
}
