import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCastFile, writeCastFile } from './cast-file.ts'
import type { RunOptions } from './commands/run-options.ts'
import { type Capabilities, cannotAsk } from './engine/capabilities.ts'
import type { Corpus } from './engine/fixture/model.ts'
import { type Item, orderItems } from './engine/items.ts'
import { emptyKnowledge, type Knowledge } from './engine/knowledge.ts'
import type { CreatedKey } from './engine/ledger.ts'
import type { RowOutcome } from './engine/outcome.ts'
import { preflight } from './engine/preflight.ts'
import { seededRandom, systemRandom } from './engine/random.ts'
import { removeKeys, skipItem } from './engine/run-item.ts'
import { credentialOfKey, endRun, type Run, type Stop, startRun, takeSeat } from './engine/seat.ts'
import { makeCall } from './engine/steps/call.ts'
import type { TargetSettings } from './engine/target.ts'
import { openLedgerFile } from './ledger-file.ts'
import { runVitest } from './run-vitest.ts'
import { bundledSettings, bundledTarget } from './targets/bundled.ts'
import { type UrlTargetOptions, urlTarget } from './targets/url.ts'

/** What a run showed, and what it left behind. */
export interface Conducted {
  outcomes: RowOutcome[]
  knowledge: Knowledge
  stopped: Stop | null
  /** Created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
  /** The user pressed Ctrl-C, or the process was told to end. */
  interrupted: boolean
  /** Rows that the suite itself could not run. */
  defects: string[]
}

export interface Conduct {
  options: RunOptions
  corpus: Corpus
  selected: readonly Item[]
  seed: number
  onStart(total: number): void
  onOutcome(outcome: RowOutcome): void
  /** One line for the user, on stderr. */
  say(line: string): void
}

/** Before the first request: what a target of these options offers, as far as the options tell. */
export function expectedCapabilities(options: RunOptions, corpus: Corpus): Capabilities {
  const bundled = options.url === null
  const settings: Pick<TargetSettings, 'probes' | 'solutions' | 'cleanup' | 'secondAddress' | 'clientAddress'> = bundled
    ? bundledSettings([])
    : targetOf(options).settings
  return {
    allow: bundled ? ['sessions', 'keys', 'limits'] : options.allow,
    lasting: !bundled,
    fresh: bundled || options.disposable,
    clockControlled: bundled,
    outwaitsRefresh: false,
    secondAddress: settings.secondAddress !== undefined,
    clientAddress: settings.clientAddress !== undefined,
    probes: Object.keys(settings.probes),
    solutions: bundled ? 2 : settings.solutions.length,
    cleanup: settings.cleanup !== undefined,
    rootKind: options.root?.kind ?? 'secret',
    keptCast: keptCast(options).flatMap(({ member }) => (member === undefined ? [] : [member])),
    castNames: corpus.cast.map(({ name }) => name),
  }
}

/**
 * Preflight, rows, clean-up.
 *
 * @throws SuiteError (exit code 3) when the target cannot be used at all
 */
export async function conduct(given: Conduct): Promise<Conducted> {
  const { options, corpus } = given
  const url = options.url === null ? null : targetOf(options)
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'))
  const ledgerFile = url === null ? null : join(folder, 'created-keys.jsonl')
  const interruption = listenForSignals(given.say)
  const unique = Date.now().toString(36)
  const run = startRun({
    target: url === null ? bundledTarget() : urlTarget(url),
    corpus,
    knowledge: emptyKnowledge(),
    random: url === null ? seededRandom(given.seed) : systemRandom,
    unique,
    ...(ledgerFile === null ? {} : { openLedger: () => openLedgerFile(ledgerFile) }),
  })
  let conducted: Omit<Conducted, 'left'> | undefined
  try {
    const capabilities = expectedCapabilities(options, corpus)
    await preflight(run, capabilities.allow, options.waitSeconds * 1000)
    const kept = url === null ? [] : await stillValid(run, keptCast(options))
    const { knowledge } = run
    const known: Capabilities = {
      ...capabilities,
      secondAddress: knowledge.secondAddress !== undefined,
      outwaitsRefresh:
        knowledge.refreshLifeMs !== undefined && knowledge.refreshLifeMs < options.settings.maxWaitMs - 1000,
      keptCast: kept.flatMap(({ member }) => (member === undefined ? [] : [member])),
    }
    const ordered = orderItems(given.selected, run.target.lasting, seededRandom(given.seed))
    given.onStart(ordered.length)
    const ran = await runVitest(
      {
        url,
        corpus,
        knowledge,
        items: ordered.map((item) => ({ key: item.key, cannot: cannotAsk(item, known) ?? null })),
        seed: given.seed,
        unique,
        trace: options.trace,
        ledgerFile,
        keptCast: kept,
        deadlineMs: options.timeoutSeconds === null ? null : Date.now() + options.timeoutSeconds * 1000,
      },
      given.onOutcome,
      interruption.onStart,
    )
    conducted = {
      outcomes: [...ran.outcomes, ...notReached(ordered, ran.outcomes, interruption.happened())],
      knowledge,
      stopped: ran.stopped,
      interrupted: interruption.happened(),
      defects: ran.defects,
    }
  } finally {
    const left = ledgerFile === null ? [] : await cleanUp(run, options, ledgerFile)
    await endRun(run)
    interruption.end()
    rmSync(folder, { recursive: true, force: true })
    if (conducted === undefined && left.length > 0) given.say(`Left on the target: ${left.join('; ')}`)
    else if (conducted !== undefined) Object.assign(conducted, { left })
  }
  return conducted as Conducted
}

function targetOf(options: RunOptions): UrlTargetOptions {
  const { url, root } = options
  if (url === null || root === null) throw new Error('a run against a URL without its URL or key')
  return {
    url,
    root,
    settings: options.settings,
    requestTimeoutMs: options.requestTimeoutMs,
    tls: options.tls,
    disposable: options.disposable,
  }
}

function keptCast({ castFile, url, root }: RunOptions): CreatedKey[] {
  return castFile === null || url === null || root === null ? [] : readCastFile(castFile, url, root.id)
}

/** Kept keys may have been removed meanwhile. */
async function stillValid(run: Run, kept: CreatedKey[]): Promise<CreatedKey[]> {
  const seat = await takeSeat(run)
  const valid: CreatedKey[] = []
  for (const key of kept) {
    const auth = credentialOfKey(key).seed === undefined ? { basic: key as never } : { ecc: key as never }
    const { answer } = await makeCall(seat, { method: 'solution/listSolutions', params: {}, auth })
    if (answer.outcome === 'accepted' || key.member === 'dave') valid.push(key)
  }
  return valid
}

/** Rows that an interruption kept from running: said, never silently missing. */
function notReached(ordered: readonly Item[], outcomes: readonly RowOutcome[], interrupted: boolean): RowOutcome[] {
  const seen = new Set(outcomes.map(({ key }) => key))
  const reason = interrupted ? 'not run: the run was interrupted' : 'not run: the suite could not run this row'
  return ordered
    .filter(({ key }) => !seen.has(key))
    .map((item) => ({ ...skipItem(item, reason), verdict: 'blocked' as const }))
    .map((outcome) => ({
      ...outcome,
      requirements: Object.fromEntries(outcome.proves.map((id) => [id, 'blocked' as const])),
    }))
}

/** Removes what the run created, except a cast that is kept. */
async function cleanUp(run: Run, options: RunOptions, ledgerFile: string): Promise<string[]> {
  const ledger = openLedgerFile(ledgerFile)
  const isKept = ({ member }: CreatedKey): boolean => options.castFile !== null && member !== undefined
  const kept = ledger.keys.filter(isKept)
  if (options.castFile !== null && options.url !== null && options.root !== null && kept.length > 0) {
    writeCastFile(options.castFile, options.url, options.root.id, kept)
  }
  const others = ledger.keys.filter((key) => !isKept(key))
  const seat = others.length === 0 ? null : await takeSeat(run)
  const left = seat === null ? [] : await removeKeys(seat, others)
  return [
    ...left.map(({ id, name }) => `API key ${id} ("${name}")`),
    ...kept.map(({ id, name }) => `API key ${id} ("${name}"), kept for the next run in ${options.castFile}`),
    ...ledger.unanswered.map((name) => `perhaps an API key "${name}": its creation was never answered`),
  ]
}

interface Interruption {
  happened(): boolean
  onStart(cancel: () => Promise<void>): void
  end(): void
}

/** The first Ctrl-C lets the running row end and cleans up; the second one leaves at once. */
function listenForSignals(say: (line: string) => void): Interruption {
  let happened = false
  let cancel: () => Promise<void> = async () => {}
  const onSignal = (): void => {
    if (happened) process.exit(130)
    happened = true
    say('Interrupted: cleaning up; press Ctrl-C again to leave at once')
    void cancel()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    happened: () => happened,
    onStart: (given) => {
      cancel = given
      if (happened) void cancel()
    },
    end: () => {
      process.removeListener('SIGINT', onSignal)
      process.removeListener('SIGTERM', onSignal)
    },
  }
}
