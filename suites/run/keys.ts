/** What a run does with the keys that it and earlier runs created on a target: removes them, and says which are left. */
import {
  type Conversation,
  type CreatedKey,
  openConversation,
  type RunListener,
  startRun,
} from '../engine/conversation/conversation.ts'
import { makeCall } from '../engine/conversation/send.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import { counted, fewOf } from '../engine/group.ts'
import { describe } from '../engine/judge/classify.ts'
import { resolve } from '../engine/language/resolve.ts'
import { printable, printableJson } from '../engine/printable.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { Target, TargetSettings } from '../engine/target.ts'
import { shellWord } from '../report/lines.ts'
import { stopText } from '../report/problem-text.ts'
import { urlTarget } from '../targets/url.ts'
import { type Ending, type Endings, endedTarget, interruptedInstead } from './ending.ts'
import { type KeysOfTarget, openKeysOfTarget } from './key-record.ts'
import type { TargetOptions } from './options.ts'

/** The maximum duration of removing keys after a run. In ms. */
export const cleanUpLimitMs = 10_000

/** A target during a run, and the keys on it. */
interface HeldTarget {
  target: Target
  keys: KeysOfTarget
  /** Removes keys of runs that were killed, or that could not remove them. */
  removeLeftovers(): Promise<void>
}

/**
 * Works at a target, and removes the keys that the work created, except kept test keys; also after a failure or Ctrl-C.
 *
 * @param say prints a line for the user
 * @returns what the work returned, and lines about the keys that are left on the target
 * @throws SuiteError (`usage`) if another run holds the record of created keys, or it cannot be used; `interrupted` instead of the error of
 * a call that was ended
 */
export async function workAtTarget<T>(
  options: TargetOptions,
  { endings, say }: { endings: Endings; say: Say },
  work: (held: HeldTarget) => Promise<T>,
): Promise<{ result: T; left: string[] }> {
  const keys = openKeysOfTarget(options)
  const target = urlTarget(options)
  const removeLeftovers = (): Promise<void> => removeKeysOfEarlierRuns(held, say, endings.cases)
  const held: HeldTarget = { target, keys, removeLeftovers }
  let done: { result: T } | undefined
  let left: string[] = []
  try {
    done = { result: await work(held) }
  } catch (error) {
    throw interruptedInstead(error, endings.cases)
  } finally {
    left = await finish(options, held, say, endings.cleanUp)
    if (done === undefined) for (const line of left) say(`Left on the target: ${line}`)
  }
  return { ...done, left }
}

type Say = (line: string) => void

async function removeKeysOfEarlierRuns({ target, keys }: HeldTarget, say: Say, ending: Ending): Promise<void> {
  if (keys.record === null) return
  const found = keys.read().keys.filter((key) => !keys.isKept(key))
  if (found.length === 0) return
  const { left, problems } = await cleanUp({ target, listener: keys.listener }, found, ending)
  const removed = found.length - left.length
  const why = problems.length === 0 ? '' : ` (${problems.join('; ')})`
  if (removed > 0) say(`Removed ${counted(removed, 'API key')} that earlier runs left on the target`)
  if (left.length > 0)
    say(
      `${counted(left.length, 'API key')} of earlier runs are still on the target${why}; "svc-conformance keys" lists them`,
    )
}

/** @returns lines about the remaining keys */
async function finish(
  { url, settings: { cleanup } }: TargetOptions,
  { target, keys }: HeldTarget,
  say: Say,
  ending: Ending,
): Promise<string[]> {
  const { keys: all, unanswered } = keys.read()
  const kept = all.filter(keys.isKept)
  const others = all.filter((key) => !keys.isKept(key))
  const deadline = setTimeout(() => ending.end({ kind: 'time', cleanUpLimitMs }), cleanUpLimitMs)
  let removal: Removal = { left: others, problems: [] }
  try {
    if (keys.record !== null && cleanup !== undefined)
      removal = await cleanUp({ target, listener: keys.listener }, others, ending)
  } catch (error) {
    say(`Cannot clean up: ${(error as Error).message}`)
  } finally {
    clearTimeout(deadline)
    keys.close([...kept, ...removal.left])
  }
  return leftKeyLines({ kept, notRemoved: removal.left, unanswered, problems: removal.problems }, url, cleanup)
}

interface Removal {
  /** The keys that are still on the target. */
  left: readonly CreatedKey[]
  /** `manager/deleteApiKey was refused (error 1)`, each once. */
  problems: readonly string[]
}

/** Removing keys needs nothing of the fixtures. */
const noCorpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

/**
 * Removes keys through the clean-up method of the target, on its own connections, until the ending.
 *
 * @param listener hears of every removed key
 */
export async function cleanUp(
  { target, listener }: { target: Target; listener: RunListener },
  keys: readonly CreatedKey[],
  ending: Ending,
): Promise<Removal> {
  if (keys.length === 0) return { left: [], problems: [] }
  const run = startRun({
    target: endedTarget(target, ending),
    corpus: noCorpus,
    facts: noFacts(),
    random: systemRandom,
    unique: '',
    emit: listener,
  })
  ending.onEnd((reason) => run.stopping.stop(reason))
  let talk: Conversation | undefined
  try {
    talk = await openConversation(run)
    const { left, problems } = await removeKeys(talk, keys)
    return { left, problems: ending.reason === null ? problems : [stopText(ending.reason)] }
  } finally {
    await talk?.instance.close()
  }
}

/**
 * Removes keys through the method that the target file names, as many at the same time as calls are allowed. Stops early if the run is
 * ended.
 */
export async function removeKeys(talk: Conversation, keys: readonly CreatedKey[]): Promise<Removal> {
  const { cleanup } = talk.instance.settings
  // The list that the talk keeps gets shorter meanwhile.
  const all = [...keys]
  const wrong = await Promise.all(
    all.map((key) => (cleanup === undefined || talk.run.stopping.reason !== null ? [] : removeKey(talk, cleanup, key))),
  )
  return {
    left: all.filter((_key, index) => wrong[index] !== null),
    problems: [...new Set(wrong.flatMap((problems) => problems ?? []))],
  }
}

type Cleanup = NonNullable<TargetSettings['cleanup']>

/** @returns null if the key is gone, otherwise the target's answer to each kind of authorization */
async function removeKey(talk: Conversation, cleanup: Cleanup, key: CreatedKey): Promise<string[] | null> {
  const params = removalParams(cleanup, key)
  const { kind } = talk.instance.root
  const auths = kind === 'secret' ? [{ basic: 'root' } as const, { hmac: 'root' } as const] : [{ ecc: 'root' } as const]
  const problems: string[] = []
  for (const auth of auths) {
    const { answer } = await makeCall(talk, { method: cleanup.method, params, auth })
    if (answer.outcome === 'accepted') return null
    problems.push(printable(talk.redactor.text(`${cleanup.method} was ${describe(answer)}`)))
  }
  return problems
}

const removalParams = (cleanup: Cleanup, { id, name }: CreatedKey): unknown => resolve(cleanup.params, { id, name })

/**
 * One line for each key that is still on the target, with the call that removes it.
 *
 * @param keys `kept`: test keys for the next run; `unanswered`: names of creations that were never answered; `problems`: why keys were not removed
 */
export function leftKeyLines(
  {
    kept,
    notRemoved,
    unanswered,
    problems,
  }: { [keys in 'kept' | 'notRemoved']: readonly CreatedKey[] } & {
    [texts in 'unanswered' | 'problems']: readonly string[]
  },
  url: string,
  cleanup?: Cleanup,
): string[] {
  const named = ({ id, name }: CreatedKey): string => printable(`API key ${id} ("${name}")`)
  const hint = notRemoved.length > 0 && cleanup === undefined
  return [
    ...notRemoved.map((key) =>
      cleanup === undefined ? named(key) : `${named(key)}; to remove it: ${removalCommand(url, cleanup, key)}`,
    ),
    ...(hint ? ['(cleanup in the target file names the method that removes them)'] : []),
    ...problems.map((problem) => `(${problem})`),
    ...kept.map((key) => `${named(key)}, kept for the next run`),
    ...unansweredLines(unanswered),
  ]
}

const shownNames = 5

/** At most one line: a server that answers every creation with 507 would give a hundred. */
function unansweredLines(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.map((name) => `"${name}"`)
  const keys = names.length === 1 ? 'an API key' : `${names.length} API keys`
  return [printable(`perhaps ${keys}, whose creation got no clear answer: ${fewOf(shown, shownNames)}`)]
}

/** The command holds no secret: the shell takes it from the environment. */
function removalCommand(url: string, cleanup: Cleanup, key: CreatedKey): string {
  const params = removalParams(cleanup, key)
  const body = printableJson({ jsonrpc: '2.0', id: 1, method: cleanup.method, params })
  return `curl -sS ${shellWord(`${url}/api`)} -u "$SVC_KEY_ID:$SVC_KEY_SECRET" -H 'Content-Type: application/json' -d ${shellWord(body)}`
}
