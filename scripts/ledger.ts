/**
 * What each way shows of every broken and every conforming server of the project, so that a change of the house loses nothing unnoticed.
 *
 *     npm run ledger -- --way cases|run|explore [--sample N] [--part I/N] [--only PREFIX] [--calls N] [--out FILE]
 *                       [--breaks PATTERN] [--unmoved]
 *     npm run ledger -- --compare BEFORE AFTER
 *     npm run ledger -- --curve FILE
 *
 * --way cases     the scripted cases of a disposable run
 * --way run       a disposable run: the cases, then the model with the keys that they left
 * --way explore   the model alone on a fresh server
 * --sample        every N-th server, always the same ones
 * --breaks        only servers that break a requirement of this pattern; '' for conforming ones
 * --unmoved       nobody moves the clock, as at a URL; but waiting takes no time
 * --curve         how many broken servers of FILE, made by --way run, were caught by a number of calls, those of the cases included
 * --compare       what AFTER lost, gained, and accuses; servers that only one of the files names are counted apart
 *
 * Everything is in memory, with clocks that are moved. Results are appended to FILE, one line each; servers that it names already are
 * skipped, so a ledger that was stopped continues. Exit code of --compare: 1 where more than 2 % of the catches are lost, or a
 * conforming server is newly accused.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { isCatch, type ProofFinding, type ProofServer, prove } from '../suites/self/explore-proof.ts'
import { brokenServers, conformingServers } from '../suites/servers/table.ts'
import { isInPart, readArguments, readResults } from './arguments.ts'

interface LedgerLine {
  readonly way: string
  readonly id: string
  /** The requirement that the server breaks; empty for a conforming one. */
  readonly breaks: string
  /** `must CASE-OR-FINDING at REQUIREMENT`, each once. */
  readonly failed: readonly string[]
  readonly warned: readonly string[]
  readonly caught: boolean
  readonly calls: number
  readonly ms: number
  readonly cpuMs: number
}

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    way: { type: 'string', default: 'cases' },
    sample: { type: 'string', default: '1' },
    part: { type: 'string', default: '0/1' },
    only: { type: 'string', default: '' },
    calls: { type: 'string', default: '16000' },
    out: { type: 'string', default: '.build/ledger.jsonl' },
    breaks: { type: 'string' },
    unmoved: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    curve: { type: 'boolean', default: false },
  },
})

const [before = [], after = []] = positionals.map((file) => readResults<LedgerLine>(file))
if (values.curve) tellCurve(before.filter(({ breaks }) => breaks !== ''))
else if (values.compare) compare(before, after)
else await record()

async function allServers(): Promise<ProofServer[]> {
  const broken = (await brokenServers()).map(
    ({ id, breaks, create }): ProofServer => ({ id, breaks, settings: {}, create }),
  )
  const conforming = (await conformingServers()).map(
    ({ id, settings = {}, create }): ProofServer => ({ id, breaks: '', settings, create }),
  )
  return [...broken, ...conforming]
}

/** The place of a server in the sample follows from its id alone, so that it stays when others come and go. */
function turnOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0)
}

async function record(): Promise<void> {
  const { way, out } = values
  const corpus = await openCorpus()
  mkdirSync(dirname(out), { recursive: true })
  const known = new Set(readResults<LedgerLine>(out).map((line) => `${line.way} ${line.id}`))
  const chosen = (await allServers())
    .filter(({ id }) => id.startsWith(values.only) && turnOf(id) % Number(values.sample) === 0)
    .filter(({ breaks }) => values.breaks === undefined || new RegExp(values.breaks || '^$').test(breaks))
    .filter(isInPart(values.part))
  for (const server of chosen) {
    if (known.has(`${way} ${server.id}`)) continue
    const cpu = process.cpuUsage()
    const { found, calls, ms } = await prove(server, way === 'explore' ? 'explore' : 'run', {
      corpus,
      seed: 1,
      calls: Number(values.calls),
      walks: 40,
      stopAtFirst: server.breaks !== '' && way !== 'cases',
      casesOnly: way === 'cases',
      unmoved: values.unmoved,
    })
    const { user, system } = process.cpuUsage(cpu)
    const tell = (wanted: string) => [
      ...new Set(
        found
          .filter(({ level }) => (level === 'must') === (wanted === 'must'))
          .map(({ id, requirement }) => `${id} at ${requirement}`),
      ),
    ]
    const line: LedgerLine = {
      way,
      id: server.id,
      breaks: server.breaks,
      failed: tell('must'),
      warned: tell('implied'),
      caught: server.breaks !== '' && found.some((one: ProofFinding) => isCatch(server.breaks, one)),
      calls,
      ms,
      cpuMs: Math.round((user + system) / 1000),
    }
    appendFileSync(out, `${JSON.stringify(line)}\n`)
  }
}

/** A line that caught its server says after how many calls, because it ended there. */
function tellCurve(asked: readonly LedgerLine[]): void {
  console.log('| calls | broken servers caught |\n|---|---|')
  for (let most = 5000; most <= 20_000; most += 1500) {
    const caught = asked.filter(({ caught, calls }) => caught && calls <= most).length
    console.log(`| ${most} | ${caught} of ${asked.length}, ${((100 * caught) / asked.length).toFixed(1)} % |`)
  }
}

function compare(before: readonly LedgerLine[], after: readonly LedgerLine[]): void {
  const later = new Map(after.map((line) => [`${line.way} ${line.id}`, line]))
  const pairs = before.flatMap((line) => {
    const other = later.get(`${line.way} ${line.id}`)
    return other === undefined ? [] : [{ line, other }]
  })
  for (const way of new Set(pairs.map(({ line }) => line.way))) {
    const both = pairs.filter(({ line }) => line.way === way)
    const caught = both.filter(({ line }) => line.caught)
    const lost = caught.filter(({ other }) => !other.caught)
    const gained = both.filter(({ line, other }) => line.breaks !== '' && !line.caught && other.caught)
    const isAccused = ({ failed, warned }: LedgerLine): boolean => failed.length + warned.length > 0
    const accused = both.filter(({ line, other }) => line.breaks === '' && isAccused(other) && !isAccused(line))
    const sum = (pick: (pair: (typeof both)[number]) => number): number => both.reduce((t, one) => t + pick(one), 0)
    console.log(
      [
        `${way}: ${both.length} servers in both files; ${caught.length} were caught, ${lost.length} lost, ${gained.length} gained`,
        `  CPU ${(sum(({ line }) => line.cpuMs) / 1000).toFixed(0)} s before, ${(sum(({ other }) => other.cpuMs) / 1000).toFixed(0)} s after; calls ${sum(({ line }) => line.calls)} before, ${sum(({ other }) => other.calls)} after`,
        ...lost.map(
          ({ line }) => `  lost     ${line.id} (${line.breaks}): ${[...line.failed, ...line.warned].join(', ')}`,
        ),
        ...gained.map(({ other }) => `  gained   ${other.id} (${other.breaks})`),
        ...accused.map(({ other }) => `  accused  ${other.id}: ${[...other.failed, ...other.warned].join(', ')}`),
      ].join('\n'),
    )
    if (lost.length > 0.02 * caught.length || accused.length > 0) process.exitCode = 1
  }
  console.log(`${before.length - pairs.length} only before, ${after.length - pairs.length} only after`)
}
