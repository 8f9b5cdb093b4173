/** What a run does with the keys that it and earlier runs created on a target: removes them, and says which are left. */

import { randomBytes } from 'node:crypto'
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import {
  type Conversation,
  type CreatedKey,
  type CreatedKeysEntry,
  openConversation,
  openCreatedKeys,
  type RunListener,
  startRun,
} from '../engine/conversation/conversation.ts'
import { isLost, listSolutions, makeCall } from '../engine/conversation/send.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import { keyLimit } from '../engine/document.ts'
import { SuiteError, usageError } from '../engine/errors.ts'
import { counted, fewOf } from '../engine/group.ts'
import { parseJson } from '../engine/json.ts'
import { describe } from '../engine/judge/classify.ts'
import { resolve } from '../engine/language/resolve.ts'
import { printable, printableJson } from '../engine/printable.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { RootKey, Target, TargetSettings } from '../engine/target.ts'
import { stopText } from '../report/problem-text.ts'
import { shellWord } from '../report/text.ts'
import { urlTarget } from '../targets/url.ts'
import { cleanUpLimitMs, type Ending, endedTarget, openEndings } from './ending.ts'
import { fileProblem, makeFolder, readText, replaceFile, stateFolder } from './files.ts'
import { recordIn, stateFolders } from './key-files.ts'
import type { TargetOptions } from './options.ts'

/** A target during a run, and the keys on it. */
interface HeldTarget extends KeysOfTarget {
  target: Target
  /** Ends the work. */
  ending: Ending
  /** Removes keys of runs that were killed, or that could not remove them. */
  removeLeftovers(): Promise<void>
}

/**
 * Works at a target, and removes the keys that the work created, except kept test keys; also after a failure or Ctrl-C.
 *
 * @param how without `endings` it listens to Ctrl-C itself
 * @returns what the work returned, and lines about the keys that are left on the target
 * @throws SuiteError (`usage`) if another run holds the record of created keys, or it cannot be used; `interrupted` instead of the error of
 * a call that was ended
 */
export async function workAtTarget<T>(
  options: TargetOptions,
  { say, endings: given }: { say: (line: string) => void; endings?: ReturnType<typeof openEndings> },
  work: (held: HeldTarget) => Promise<T>,
): Promise<{ result: T; left: string[] }> {
  const { url, settings } = options
  const keys = openKeysOfTarget(options)
  const target = urlTarget(options)
  const endings = given ?? openEndings()
  const removable = (): CreatedKey[] => keys.read().keys.filter((key) => !keys.isKept(key))
  const remove = (those: readonly CreatedKey[], ending: Ending): Promise<Removal> =>
    cleanUp({ target, listener: keys.listener }, those, ending)
  const removeLeftovers = async (): Promise<void> => {
    const found = keys.record === null ? [] : removable()
    const { left, problems } = await remove(found, endings.cases)
    const removed = found.length - left.length
    const why = problems.length === 0 ? '' : ` (${problems.join('; ')})`
    if (removed > 0) say(`Removed ${counted(removed, 'API key')} that earlier runs left on the target`)
    if (left.length > 0)
      say(
        `${counted(left.length, 'API key')} of earlier runs ${left.length === 1 ? 'is' : 'are'} recorded for the target${why}; "svc-conformance keys" lists them, and with --forget forgets them if the server was started again`,
      )
  }
  /** @returns lines about the remaining keys */
  const finish = async (ending: Ending): Promise<string[]> => {
    const { keys: all, unanswered } = keys.read()
    const kept = all.filter(keys.isKept)
    const deadline = setTimeout(() => ending.end({ kind: 'time', cleanUpLimitMs }), cleanUpLimitMs)
    let removal: Removal = { left: removable(), problems: [] }
    try {
      if (keys.record !== null && settings.cleanup !== undefined) removal = await remove(removal.left, ending)
    } catch (error) {
      say(`Cannot clean up: ${(error as Error).message}`)
    } finally {
      clearTimeout(deadline)
      keys.close([...kept, ...removal.left])
    }
    if (done !== undefined && removal.left.length > 0 && settings.cleanup === undefined && !options.disposable)
      say('API keys stay on the target: name the method that removes them as "cleanup" in the target file')
    return leftKeyLines({ kept, unanswered, ...removal }, url, settings.cleanup)
  }
  const namesOf = ({ keys: all, unanswered }: Created): string[] => [...all.map(({ id }) => id), ...unanswered]
  const before = namesOf(keys.read())
  let done: { result: T } | undefined
  let left: string[] = []
  try {
    done = { result: await work({ ...keys, target, ending: endings.cases, removeLeftovers }) }
  } catch (error) {
    throw interruptedInstead(error, endings.cases)
  } finally {
    // Keys of earlier runs are no news where the work failed; the reason is printed after these lines.
    const hasCreated = namesOf(keys.read()).some((name) => !before.includes(name))
    left = await finish(endings.cleanUp)
    endings.stop()
    if (done === undefined && hasCreated) for (const line of left) say(`Left on the target: ${line}`)
  }
  return { ...done, left }
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
  // A call may have been carried out although its answer was lost.
  let wasLost = false
  for (const auth of auths) {
    const remove = () => makeCall(talk, { method: cleanup.method, params, auth })
    const first = await remove()
    const isAgain = isLost(first)
    wasLost ||= isAgain
    const { answer } = isAgain && talk.run.stopping.reason === null ? await remove() : first
    if (answer.outcome === 'accepted') return null
    if (wasLost && answer.outcome === 'refused' && (await isRefusedNow(talk, key))) {
      talk.createdKeys.note({ removed: key.id })
      return null
    }
    const before = isAgain ? `${describe(first.answer)}, and then ` : ''
    problems.push(printable(talk.redactor.text(`${cleanup.method} was ${before}${describe(answer)}`)))
  }
  return problems
}

/** Whether a key that worked is refused, which shows that it is gone; false where its secret is not known. */
async function isRefusedNow(talk: Conversation, { id, secret }: CreatedKey): Promise<boolean> {
  if (secret === undefined) return false
  const auth = { header: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
  return (await listSolutions(talk, auth)).answer.outcome === 'refused'
}

const removalParams = (cleanup: Cleanup, { id, name }: CreatedKey): unknown => resolve(cleanup.params, { id, name })

/** What is left on a target after a run. */
interface Left extends Removal {
  /** Test keys for the next run. */
  kept: readonly CreatedKey[]
  /** Names of creations that were never answered. */
  unanswered: readonly string[]
}

/** One line for each key that is still on the target, with the call that removes it. */
export function leftKeyLines({ kept, left, unanswered, problems }: Left, url: string, cleanup?: Cleanup): string[] {
  const named = ({ id, name }: CreatedKey): string => printable(`API key ${id} ("${name}")`)
  const why = problems.length === 0 ? '' : ` (${problems.join('; ')})`
  return [
    ...left.map((key) =>
      cleanup === undefined ? named(key) : `${named(key)}${why}; to remove it: ${removalCommand(url, cleanup, key)}`,
    ),
    ...kept.map((key) => `${named(key)}, kept for the next run`),
    ...unansweredLines(unanswered),
  ]
}

/** As many as a server may hold: a person who looks for them there knows them only by name. */
const shownNames = keyLimit

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

/**
 * The record of created keys: one file for each target and root key. It survives every end of a run. A header line, then one JSON
 * line for each entry, written to the disk before the call that it describes. A lock beside it lets one run at a time use a target.
 */

const ownerOnly = 0o600
const ownerOnlyFolder = 0o700
const format = 'svc-conformance created keys'
const version = 1

/** What was created on a target: keys that exist, and names of creations whose answer was lost. */
interface Created {
  keys: readonly CreatedKey[]
  unanswered: readonly string[]
}

/** The content of a record, with the target and the root key that it belongs to. */
interface KeyRecord extends Created {
  owner: { url: string; rootId: string }
}

/** How a thread of a run continues a record. */
interface RecordFile {
  file: string
  /** The next run will use the keys. */
  withSecrets: boolean
}

/** The record of created keys, held by one run. */
interface KeysOfTarget {
  /** null if this run creates nothing. */
  record: RecordFile | null
  listener: RunListener
  read(): Created
  /** The created keys of the target, which continue the record. */
  open(): ReturnType<typeof openCreatedKeys>
  /** Whether a key is a test key that is kept for the next run. */
  isKept(key: CreatedKey): boolean
  /** Writes the keys that are still on the target into the record, and releases it. */
  close(left: readonly CreatedKey[]): void
}

/** What decides the record of a target: a disposable one is fresh, so keys of earlier runs are gone. */
type Recorded = Pick<TargetOptions, 'url' | 'allow' | 'disposable' | 'stateFolder' | 'testKeysFile'> & {
  root: Pick<RootKey, 'id'>
}

const nothing: Created = { keys: [], unanswered: [] }

/** The keys that earlier runs left on a target, according to the record; empty without a record. @throws SuiteError (`usage`) */
export function earlierKeys(target: Recorded): Created {
  if (target.disposable && target.testKeysFile === null) return nothing
  const file = fileOf(target, target.stateFolder)
  const record = readKeyRecord(file)
  if (record === null) return nothing
  const { url, rootId } = record.owner
  if (url !== target.url || rootId !== target.root.id)
    throw unusable(file, `it holds the keys of another target ("${url}", key "${rootId}"); name another file`)
  return record
}

/**
 * Locks the record of a target and its root key for this run, so that no other run uses up the same places for keys.
 *
 * @throws SuiteError (`usage`) if another run holds it, or it cannot be read or written
 */
export function openKeysOfTarget(target: Recorded): KeysOfTarget {
  const { url, root, testKeysFile, disposable } = target
  const withSecrets = testKeysFile !== null
  const isKept = ({ member }: CreatedKey): boolean => withSecrets && member !== undefined
  if (!target.allow.includes('keys')) {
    const found = earlierKeys(target)
    const open = () => openCreatedKeys(() => {}, asEntries(found))
    return { record: null, listener: () => {}, read: () => found, open, isKept, close: () => {} }
  }
  const folders = withSecrets ? [] : stateFolders(target.stateFolder)
  const stateFolder = folders.find(isWritable) ?? target.stateFolder
  const file = fileOf(target, stateFolder)
  const owner = { url, rootId: root.id }
  const lock = takeLock(lockFile(file))
  if ('holder' in lock)
    throw usageError(
      `Cannot create API keys at "${url}" now: process ${lock.holder.pid} runs there with the same key "${root.id}", and two runs would use up one another's keys and sessions; wait until it ends, or give each run its own instance and key`,
    )
  try {
    writeKeyRecord(file, { owner, ...earlierKeys({ ...target, stateFolder }) })
  } catch (error) {
    lock.release()
    throw error
  }
  const read = (): Created => readKeyRecord(file) ?? nothing
  const listener = recordKeys({ file, withSecrets })
  return {
    record: { file, withSecrets },
    listener,
    read,
    open: () => openCreatedKeys((entry) => listener({ kind: 'key-noted', entry }), asEntries(read())),
    isKept,
    close: (keys) => {
      try {
        const { unanswered } = read()
        // A disposable instance is thrown away with its keys.
        const isEmpty = (disposable && !withSecrets) || keys.length + unanswered.length === 0
        if (isEmpty) rmSync(file, { force: true })
        else writeKeyRecord(file, { owner, keys, unanswered })
      } finally {
        lock.release()
      }
    },
  }
}

/** The entries with which a thread continues a record. */
export function asEntries({ keys, unanswered }: Created): CreatedKeysEntry[] {
  return [...keys.map((created) => ({ created })), ...unanswered.map((intend) => ({ intend }))]
}

/** The file of a target and its root key: the one that the target file names, or one in the state folder. */
const fileOf = ({ url, root, testKeysFile }: Recorded, folder: string): string =>
  testKeysFile ?? recordIn(folder, url, root.id)

interface Header {
  format: string
  version: number
  note: string
  url: string
  rootId: string
}

/**
 * @returns with the id of the running process that holds it; null if the file does not exist
 *
 * @throws SuiteError (`usage`) for a file that cannot be read, or that is not a record of this version
 */
export function readKeyRecord(file: string): (KeyRecord & { holder: number | null }) | null {
  if (!existsSync(file)) return null
  const [first = '', ...lines] = readText(file, 'the record of created keys').split('\n')
  const header = parseJson(first) as Header | undefined
  if (header?.format !== format) throw unusable(file, 'it is not a record that svc-conformance wrote')
  if (header.version !== version) throw unusable(file, `it has version ${header.version}, expected ${version}`)
  const entries: CreatedKeysEntry[] = []
  for (const [index, line] of lines.entries()) {
    const entry = parseJson(line) as CreatedKeysEntry | undefined
    if (entry !== undefined) entries.push(entry)
    // A killed process may have left half of its last line.
    else if (line !== '' && index < lines.length - 1) throw unusable(file, `line ${index + 2} is not JSON`)
  }
  const { keys, unanswered } = openCreatedKeys(() => {}, entries)
  const holder = holderOf(lockFile(file))?.pid ?? null
  return { owner: { url: header.url, rootId: header.rootId }, keys, unanswered, holder }
}

/** Begins or replaces a record, for its owner only. @throws SuiteError (`usage`) */
export function writeKeyRecord(file: string, record: KeyRecord): void {
  const note = 'API keys that svc-conformance created and did not remove. They may be secret.'
  const header: Header = { format, version, note, ...record.owner }
  const modes = { file: ownerOnly, folder: ownerOnlyFolder }
  replaceFile(file, [header, ...asEntries(record)].map(jsonLine).join(''), 'the record of created keys', modes)
}

const jsonLine = (entry: object): string => `${JSON.stringify(entry)}\n`

/**
 * Returns a listener that appends entries about created keys. The intention to create one is on the disk when the listener returns, so a
 * full disk prevents the creation. What became of it need not be flushed: without it, the intention says that a key may be there.
 */
export function recordKeys({ file, withSecrets }: RecordFile): RunListener {
  return (event) => {
    if (event.kind !== 'key-noted') return
    try {
      const text = jsonLine(withSecrets ? event.entry : withoutSecrets(event.entry))
      writeFileSync(file, text, { flag: 'a', mode: ownerOnly, flush: 'intend' in event.entry })
    } catch (cause) {
      const why = fileProblem(cause, 'folder')
      throw usageError(`Cannot write the record of created keys "${file}": ${why}`, { cause })
    }
  }
}

function withoutSecrets(entry: CreatedKeysEntry): CreatedKeysEntry {
  if (!('created' in entry)) return entry
  const { secret: _secret, privateKey: _privateKey, ...created } = entry.created
  return { created }
}

const unusable = (file: string, why: string): SuiteError =>
  usageError(`Cannot use the record of created keys "${file}": ${why}`)

// The state folder.

/** Forgets the recorded keys of a server that has just started, unless a run uses their record. @returns lines about what it forgot, or could not */
export function forgetKeys(url: string, rootId: string, env: NodeJS.ProcessEnv): string[] {
  return stateFolders(stateFolder(env)).flatMap((folder) => {
    const file = recordIn(folder, url, rootId)
    try {
      const record = readKeyRecord(file)
      if (record === null || record.holder !== null) return []
      rmSync(file)
      return `Forgot ${counted(record.keys.length, 'API key')} that runs recorded for ${url}: this server begins without them`
    } catch (error) {
      return `Cannot forget the keys that runs recorded for ${url} ("${file}"): ${(error as Error).message}`
    }
  })
}

/** Creates the folder if needed, and checks that no other user created it, because that user could read the keys. */
function isWritable(folder: string): boolean {
  try {
    makeFolder(folder, ownerOnlyFolder)
    accessSync(folder, constants.W_OK)
    return process.getuid === undefined || statSync(folder).uid === process.getuid()
  } catch {
    return false
  }
}

// The lock of a record.

const lockFile = (file: string): string => `${file}.lock`

/** The process that holds a lock. */
interface Holder {
  pid: number
  /** Tells a process from a later one with the same id, if the system supports it; otherwise empty. */
  born: string
}

/**
 * Takes a lock file for this process, also one that a dead process left.
 *
 * @returns a function that releases the lock, or the running process that holds it
 */
function takeLock(file: string): { release: () => void } | { holder: Holder } {
  makeFolder(dirname(file), ownerOnlyFolder)
  const mine = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  const holder: Holder = { pid: process.pid, born: bornOf(process.pid) }
  writeFileSync(mine, JSON.stringify(holder), { mode: ownerOnly })
  try {
    for (;;) {
      try {
        placeLock(mine, file)
        return { release: () => rmSync(file, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const other = holderOf(file)
        if (other !== null) return { holder: other }
        rmSync(file, { force: true })
      }
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** The error codes of file systems without hard links. */
const withoutLinks = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/** Creates a complete lock file in one step, so that no process reads half of it. @throws if it exists already */
function placeLock(from: string, file: string): void {
  try {
    linkSync(from, file)
  } catch (error) {
    if (!withoutLinks.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    copyFileSync(from, file, constants.COPYFILE_EXCL)
  }
}

/** The running process that holds a lock; null if none does. */
function holderOf(file: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Holder
    return isAlive(holder) ? holder : null
  } catch {
    return null
  }
}

function isAlive({ pid, born }: Holder): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return born === '' || bornOf(pid) === born
}

/** When a process started, in ticks of the system; empty if the system does not say. */
function bornOf(pid: number): string {
  try {
    // The second field is a name in parentheses that may contain spaces; the 22nd is the start time.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

/** Turns an error during an ended run into the reason of the end: it says nothing about the target. */
function interruptedInstead(error: unknown, { reason }: Ending): unknown {
  if (!(error instanceof SuiteError) || error.exitCode !== 3 || reason?.kind !== 'interrupted') return error
  return new SuiteError('interrupted', 'Interrupted before the first case', { cause: error })
}
