/** What came between a right answer to a call and a wrong one to the same call: where a state was damaged, it was damaged there. */
import { hasDocumentedResult } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import type { Since } from '../report/report.ts'
import { describeNamedStep } from './describe-step.ts'
import type { Candidate, Entry, Explorer } from './explorer-types.ts'
import { ownerOf } from './fixture-words.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { type FindMade, findMadeBy, generationOf, granteeOf, grantOf, refreshedIn } from './token-lines.ts'
import { callsOf, madeBy } from './whole-sequence.ts'

/** More lines tell a reader nothing. */
const mostLines = 6
/** Fewer calls that change nothing are no clue. */
const fewCalls = 5

/**
 * The calls that create or end a key, or make or refresh a pair of the same keys, since the last right answer to the same call, or since its key
 * was created. A last line counts the other calls with these keys.
 *
 * @param steps the steps of the finding, which are told anyway
 * @returns undefined where nothing came between, or next to nothing
 */
export function cameBetween({ log }: Explorer, { kind, entry }: Candidate, steps: readonly Step[]): Since | undefined {
  const wrong = log[entry]?.step
  if ((kind !== 'accepted' && kind !== 'refused') || wrong?.do !== 'call') return undefined
  const find = findMadeBy(log.map(({ step }) => step))
  const keys = keysOf(wrong, find)
  const before = log.slice(0, entry)
  const { from, at } = lastRight(before, wrong, kind, find) ?? creationOf(before, keys, wrong, kind) ?? {}
  if (from === undefined || at === undefined) return undefined
  const isOfKeys = (call: CallStep): boolean => keysOf(call, find).some((key) => keys.includes(key))
  const own = steps.flatMap(madeBy)
  const between = before.slice(at + 1).filter(({ step }) => !madeBy(step).some((name) => own.includes(name)))
  const shown = between
    .flatMap(acceptedCalls)
    .filter((call) => changesKeys(call) || (call.method === 'manager/auth' && isOfKeys(call)))
    .slice(-mostLines)
  const ofKeys = between.filter(({ step }) => callsOf(step).some(isOfKeys))
  const others = ofKeys.length - shown.filter(isOfKeys).length
  const calls = [...shown.map(lineOf), ...passed((log[entry]?.at ?? 0) - (log[at]?.at ?? 0))]
  if (calls.length === 0 && others < fewCalls) return undefined
  return {
    from,
    calls: [...calls, ...(others > 0 ? [`${counted(others, 'other call')} with ${keys.join(' or ')}`] : [])],
  }
}

type Wrong = 'accepted' | 'refused'

interface Start {
  readonly from: string
  readonly at: number
}

function lastRight(before: readonly Entry[], wrong: CallStep, kind: Wrong, find: FindMade): Start | undefined {
  const right = kind === 'accepted' ? 'refused' : 'accepted'
  const like = likenessOf(wrong, kind, find)
  const at = before.findLastIndex(
    ({ step, seen }) => step.do === 'call' && seen[0]?.answer.kind === right && likenessOf(step, kind, find) === like,
  )
  return at < 0 ? undefined : { from: `The same call was ${right} before`, at }
}

/** Of a wrong acceptance the creation explains nothing, and a refused call in another form is about the form. */
function creationOf(
  before: readonly Entry[],
  keys: readonly string[],
  { form, nonce, change, inChunks }: CallStep,
  kind: Wrong,
): Start | undefined {
  if (kind === 'accepted' || [form, nonce, change, inChunks].some((one) => one !== undefined)) return undefined
  const createdIn = (one: Entry): CallStep | undefined =>
    acceptedCalls(one).find((call) => isCreation(call) && keys.includes(call.as ?? ''))
  const at = before.findLastIndex((one) => createdIn(one) !== undefined)
  const creation = before[at] === undefined ? undefined : createdIn(before[at])
  return creation === undefined ? undefined : { from: `${creation.as} was created before${labelOf(creation)}`, at }
}

function lineOf(call: CallStep): string {
  const as = call.as ?? 'a key'
  const made = isCreation(call) ? `, which made ${as}${labelOf(call)}` : call.as === undefined ? '' : ` as ${call.as}`
  return `${describeNamedStep(call)}${made}: accepted`
}

/** With what name a key is created: keys of one name may be mixed up. */
const labelOf = ({ params: { name } }: CallStep): string => (typeof name === 'string' ? ` with the name "${name}"` : '')

const isCreation = ({ method }: CallStep): boolean => method === 'manager/createApiKey'

const minuteMs = 60_000

function passed(ms: number): string[] {
  if (ms < 2 * minuteMs) return []
  const minutes = Math.round(ms / minuteMs)
  return [`${minutes < 120 ? counted(minutes, 'minute') : counted(Math.round(minutes / 60), 'hour')} passed`]
}

const acceptedCalls = ({ seen }: Entry): CallStep[] =>
  seen.flatMap(({ step, answer }) => (answer.kind === 'accepted' ? [step] : []))

/** A creation, or a method that the document does not name and that is about a key. */
const changesKeys = (call: CallStep): boolean =>
  isCreation(call) || (!hasDocumentedResult(call.method) && /"\$[\w-]+\.id"/.test(JSON.stringify(call.params)))

/** The keys that a call names, and those to which its pairs were granted. */
const keysOf = (call: CallStep, find: FindMade): string[] => [
  ...new Set(namesIn(call).map((name) => granteeOf(`$${name}.`, find) ?? ownerOf(name))),
]

/**
 * What calls have in common that differ in nothing but the session, the connection and which fresh pair of the same scope they use. A pair that must be
 * refused is like no other: its own past decides.
 */
function likenessOf(
  { method, auth, params, change, also, form, inChunks, from }: CallStep,
  kind: Wrong,
  find: FindMade,
): string {
  const pair = auth.kind === 'token' ? auth.token : `$${refreshedIn({ params }) ?? ''}.`
  const grant = kind === 'accepted' ? undefined : grantOf(pair, find)
  const caller = grant === undefined ? [auth, params] : [auth.kind, grant.params, generationOf(pair, find)]
  return JSON.stringify([method, caller, change, also, form, inChunks, from]).replace(/"session:[^"]*"/g, '"session:"')
}
