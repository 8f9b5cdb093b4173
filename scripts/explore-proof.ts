/**
 * How many broken servers, written by other authors than the suite, are found, and whether a conforming one is accused.
 *
 *     npm run explore-proof -- [--way cases|run|explore] [--mutants | --variants] [--set first|second|…] [--only PREFIX] [--ids A,B]
 *                              [--breaks PATTERN] [--sample N] [--part I/N] [--calls N] [--all] [--bare] [--unmoved] [--lanes N]
 *                              [--out FILE] [--print] [--write]
 *     npm run ledger -- [--way …] …               the same for the servers of every author, ours too, without tables
 *     npm run ledger -- --compare BEFORE AFTER    what AFTER lost, gained, and accuses
 *     npm run ledger -- --curve FILE              how many broken servers of FILE, made by --way run, were caught by a number of calls
 *
 * --way run       scripted cases, then the model with the keys they left: a disposable run (the default)
 * --way cases     scripted cases only
 * --way explore   the model alone on a fresh server, as "explore --for 60"
 * --set           only one of the sets, each written by an author of its own
 * --breaks        only servers that break a requirement of this pattern
 * --sample        every N-th server, always the same ones
 * --bare          the target file names no method for cleanup and no other area: keys that the cases create keep their places
 * --unmoved       nobody moves the clock, as at a URL; but waiting takes no time
 * --lanes         how many calls may be under way at once; with --unmoved, because cases and model then take more than one
 * --verdicts      with --compare: also the requirements that only one of the files calls broken; both should be made with --all
 * --all           continues after the first finding of a broken server
 * --print         runs nothing; prints the tables of the results in FILE
 * --write         writes the summary into docs/model.md
 *
 * Results are appended to FILE, one line each. Servers that it already names are skipped, so a proof that was stopped continues. The
 * servers' clocks are moved, so that nothing waits. Exit code 1: a conforming server was accused, or a goal was missed; of --compare: more
 * than 2 % of the catches are lost, or a conforming server is newly accused.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { isCaught, type ProofLine, type ProofServer, prove, type Way } from '../suites/self/explore-proof.ts'
import { missedGoals, proofLists, proofSummary } from '../suites/self/proof-told.ts'
import { writeBlock } from '../suites/self/sources.ts'
import { origins } from '../suites/servers/rows.ts'
import { brokenServers, conformingServers } from '../suites/servers/table.ts'
import { isInPart, readArguments, readResults, wrongArgument } from './arguments.ts'

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    way: { type: 'string', default: 'run' },
    only: { type: 'string', default: '' },
    ids: { type: 'string', default: '' },
    breaks: { type: 'string', default: '' },
    sample: { type: 'string', default: '1' },
    variants: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    calls: { type: 'string' },
    out: { type: 'string' },
    part: { type: 'string', default: '0/1' },
    all: { type: 'boolean', default: false },
    bare: { type: 'boolean', default: false },
    unmoved: { type: 'boolean', default: false },
    lanes: { type: 'string' },
    set: { type: 'string' },
    print: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    ledger: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    verdicts: { type: 'boolean', default: false },
    curve: { type: 'boolean', default: false },
  },
})

/** The calls of a disposable run on the loopback by default, and about those of `explore --for 60`. */
const callsOf: { readonly [way in Way]: number } = { cases: 0, run: 16_000, explore: 20_000 }

const way = values.way as Way
if (!(way in callsOf)) wrongArgument(`--way ${way}: name ${Object.keys(callsOf).join(', ')}`)
const sets = origins.filter((origin) => origin !== 'own')
if (values.set !== undefined && !sets.some((set) => set === values.set))
  wrongArgument(`--set ${values.set}: there is no such set; name ${sets.join(', ')}`)
const out = values.out ?? `.build/${values.ledger ? 'ledger' : 'explore-proof'}.jsonl`

const author = values.ledger ? undefined : 'others'
const broken = await brokenServers(author)
const conforming = await conformingServers(author)
const settingsOfAll = {
  ...(values.bare ? { cleanup: undefined, probes: {} } : {}),
  ...(values.lanes === undefined ? {} : { concurrency: Number(values.lanes) }),
}
const mutants: ProofServer[] = broken.map((one) => ({ ...one, settings: settingsOfAll }))
const variants: ProofServer[] = conforming.map((one) => ({
  ...one,
  breaks: '',
  settings: { ...settingsOfAll, ...one.settings },
}))

/** Every fortieth conforming server gets the scenarios that `explore` writes. */
const oneConforming = 40

const nameOf = ({ way: asked, id }: Pick<ProofLine, 'way' | 'id'>): string => `${asked} ${id}`

const [before = [], after = []] = positionals.map((file) => readResults<ProofLine>(file))
if (values.curve) tellCurve(before.filter(({ breaks }) => breaks !== ''))
else if (values.compare) compare(before, after)
else {
  mkdirSync(dirname(out), { recursive: true })
  if (!values.print && !values.mutants) await ask(variants, false)
  if (!values.print && !values.variants) await ask(mutants, !values.all)
  if (!values.ledger) tell()
}

async function ask(servers: readonly ProofServer[], stopAtFirst: boolean): Promise<void> {
  const corpus = await openCorpus()
  const done = new Set(readResults<ProofLine>(out).map(nameOf))
  const ids = values.ids === '' ? null : new Set(values.ids.split(','))
  const set = new Set([...broken, ...conforming].filter(({ origin }) => origin === values.set).map(({ id }) => id))
  /** The place of a server in the sample follows from its id alone, so that it stays when others come and go. */
  const turnOf = (id: string): number => createHash('sha256').update(id).digest().readUInt32BE(0)
  const mine = servers
    .filter(
      ({ id }) => id.startsWith(values.only) && (ids?.has(id) ?? true) && turnOf(id) % Number(values.sample) === 0,
    )
    .filter(({ id, breaks }) => (values.set === undefined || set.has(id)) && new RegExp(values.breaks).test(breaks))
    .filter(isInPart(values.part))
    .filter(({ id }) => !done.has(nameOf({ way, id })))
  for (const server of mine) {
    const line = await prove(server, way, {
      corpus,
      seed: 1,
      calls: Number(values.calls ?? callsOf[way]),
      walks: 40,
      stopAtFirst,
      unmoved: values.unmoved,
      conforming: variants.filter((_, index) => index % oneConforming === 0),
    })
    appendFileSync(out, `${JSON.stringify(line)}\n`)
  }
}

function tell(): void {
  const known = new Set([...mutants, ...variants].map(({ id }) => id))
  // Results of servers that no longer exist do not count.
  const lines = readResults<ProofLine>(out).filter(({ id }) => known.has(id))
  const reasons = new Map(broken.flatMap(({ id, missed: why }) => (why === undefined ? [] : [[id, why]])))
  const everyServer = [...broken, ...conforming]
  const idsOf = (set: string) => new Set(everyServer.filter(({ origin }) => origin === set).map(({ id }) => id))
  const summary = proofSummary(lines, new Map(sets.map((set) => [set, idsOf(set)])), reasons)
  console.log([...proofLists(lines, reasons), '', summary].join('\n'))
  const missed = missedGoals(lines)
  for (const one of missed) console.error(one)
  if (missed.length > 0) process.exitCode = 1
  if (values.write) writeBlock('docs/model.md', 'proof', summary)
}

/** A line that caught its server says after how many calls, because it ended there. */
function tellCurve(asked: readonly ProofLine[]): void {
  console.log('| calls | broken servers caught |\n|---|---|')
  for (let most = 5000; most <= 20_000; most += 1500) {
    const caught = asked.filter((line) => isCaught(line) && line.calls <= most).length
    console.log(`| ${most} | ${caught} of ${asked.length}, ${((100 * caught) / asked.length).toFixed(1)} % |`)
  }
}

/** Servers that only one of the files names are counted apart. */
function compare(earlier: readonly ProofLine[], later: readonly ProofLine[]): void {
  const laterOf = new Map(later.map((line) => [nameOf(line), line]))
  const pairs = earlier.flatMap((line) => {
    const other = laterOf.get(nameOf(line))
    return other === undefined ? [] : [{ line, other }]
  })
  for (const each of new Set(pairs.map(({ line }) => line.way))) {
    const both = pairs.filter(({ line }) => line.way === each)
    const caught = both.filter(({ line }) => isCaught(line))
    const lost = caught.filter(({ other }) => !isCaught(other))
    const gained = both.filter(({ line, other }) => !isCaught(line) && isCaught(other))
    const accused = both.filter(
      ({ line, other }) => line.breaks === '' && other.found.length > 0 && line.found.length === 0,
    )
    const sum = (pick: (pair: (typeof both)[number]) => number): number => both.reduce((t, one) => t + pick(one), 0)
    console.log(
      [
        `${each}: ${both.length} servers in both files; ${caught.length} were caught, ${lost.length} lost, ${gained.length} gained`,
        `  CPU ${(sum(({ line }) => line.cpuMs) / 1000).toFixed(0)} s before, ${(sum(({ other }) => other.cpuMs) / 1000).toFixed(0)} s after; calls ${sum(({ line }) => line.calls)} before, ${sum(({ other }) => other.calls)} after`,
        ...lost.map(({ line }) => `  lost     ${line.id} (${line.breaks}): ${placesOf(line)}`),
        ...gained.map(({ other }) => `  gained   ${other.id} (${other.breaks})`),
        ...accused.map(({ other }) => `  accused  ${other.id}: ${placesOf(other)}`),
        ...(values.verdicts ? both.flatMap(differences) : []),
      ].join('\n'),
    )
    if (lost.length > 0.02 * caught.length || accused.length > 0) process.exitCode = 1
  }
  console.log(`${earlier.length - pairs.length} only before, ${later.length - pairs.length} only after`)
}

/** The requirements that only one of two lines about a server calls broken. */
function differences({ line, other }: { readonly line: ProofLine; readonly other: ProofLine }): string[] {
  const namedIn = ({ found }: ProofLine) => new Set(found.map(({ level, requirement }) => `${level} ${requirement}`))
  const [before, after] = [namedIn(line), namedIn(other)]
  const told = [...new Set([...before, ...after])].flatMap((name) =>
    before.has(name) && after.has(name) ? [] : [`${name} only ${before.has(name) ? 'before' : 'after'}`],
  )
  return told.length === 0 ? [] : [`  differs  ${line.id} (${line.breaks}): ${told.join(', ')}`]
}

function placesOf({ found }: ProofLine): string {
  return [...new Set(found.map(({ id, requirement }) => `${id} at ${requirement}`))].join(', ')
}
