/**
 * How many broken servers, written by other authors than the suite, are found, and whether a conforming one is accused.
 *
 *     npm run explore-proof -- [--way run|explore] [--mutants | --variants] [--set first|second|…] [--only PREFIX] [--ids A,B]
 *                              [--seeds N] [--first SEED] [--calls N] [--walks N] [--part I/N] [--all] [--cases] [--out FILE]
 *                              [--bare] [--unmoved] [--print] [--write]
 *
 * --way run       scripted cases, then the model with the keys they left: a disposable run (the default)
 * --way explore   the model alone on a fresh server, as "explore --for 60"
 * --cases         scripted cases only
 * --set           only one of the sets, each written by an author of its own
 * --bare          the target file names no method for cleanup and no other area: keys that the cases create keep their places
 * --unmoved       nobody moves the clock, as at a URL; but waiting takes no time
 * --all           continues after the first finding of a broken server
 * --print         runs nothing; prints the tables of the results in FILE
 * --write         writes the summary into docs/model.md
 *
 * Results are appended to FILE, one line each. Servers that it already names are skipped, so a proof that was stopped continues. The
 * servers' clocks are moved, so that nothing waits. Exit code 1: a conforming server was accused, or a goal was missed.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import {
  missedGoals,
  type ProofLine,
  type ProofServer,
  proofLists,
  proofSummary,
  prove,
  type Way,
} from '../suites/self/explore-proof.ts'
import { writeBlock } from '../suites/self/sources.ts'
import { origins } from '../suites/servers/operators.ts'
import { brokenServers, conformingServers } from '../suites/servers/table.ts'
import { isInPart, readArguments, readResults, wrongArgument } from './arguments.ts'

const { values } = readArguments({
  options: {
    way: { type: 'string', default: 'run' },
    only: { type: 'string', default: '' },
    ids: { type: 'string', default: '' },
    variants: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
    calls: { type: 'string' },
    walks: { type: 'string', default: '40' },
    out: { type: 'string', default: '.build/explore-proof.jsonl' },
    part: { type: 'string', default: '0/1' },
    all: { type: 'boolean', default: false },
    cases: { type: 'boolean', default: false },
    bare: { type: 'boolean', default: false },
    unmoved: { type: 'boolean', default: false },
    set: { type: 'string' },
    print: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

/** The calls of a disposable run on the loopback by default, and about those of `explore --for 60`. */
const callsOf: { readonly [way in Way]: number } = { run: 16_000, explore: 20_000 }

const way: Way = values.way === 'explore' ? 'explore' : 'run'
const corpus = await openCorpus()
const settingsOfAll = values.bare ? { cleanup: undefined, probes: {} } : {}
const broken = await brokenServers('others')
const mutants: ProofServer[] = broken.map(({ id, breaks, create }) => ({
  id,
  breaks,
  settings: settingsOfAll,
  create,
}))
const variants: ProofServer[] = (await conformingServers('others')).map(({ id, settings, create }) => ({
  id,
  breaks: '',
  settings: { ...settingsOfAll, ...settings },
  create,
}))

/** Every fortieth conforming server gets the scenarios that `explore` writes. */
const oneConforming = 40

/** The ids of both, by the set that they belong to: each set has an author of its own. The first comes first. */
const everyServer = [...(await brokenServers()), ...(await conformingServers())]
const idsOf = (set: string) => new Set(everyServer.filter(({ origin }) => origin === set).map(({ id }) => id))
const sets = new Map(origins.filter((set) => set !== 'own').map((set) => [set as string, idsOf(set)]))
const chosen = values.set === undefined ? null : sets.get(values.set)
if (chosen === undefined)
  wrongArgument(`--set ${values.set}: there is no such set; name ${[...sets.keys()].join(', ')}`)
const isInSet = (id: string): boolean => chosen?.has(id) ?? true

const done = new Map<string, ProofLine>()
for (const line of readResults<ProofLine>(values.out)) done.set(`${line.way} ${line.id} ${line.seed}`, line)

async function ask(servers: readonly ProofServer[], stopAtFirst: boolean): Promise<void> {
  const ids = values.ids === '' ? null : new Set(values.ids.split(','))
  const mine = servers
    .filter(isInPart(values.part))
    .filter(({ id }) => id.startsWith(values.only) && isInSet(id) && (ids?.has(id) ?? true))
  const first = Number(values.first)
  for (let seed = first; seed < first + Number(values.seeds); seed++)
    for (const server of mine) {
      const name = `${way} ${server.id} ${seed}`
      if (done.has(name)) continue
      const line = await prove(server, way, {
        corpus,
        seed,
        calls: Number(values.calls ?? callsOf[way]),
        walks: Number(values.walks),
        stopAtFirst,
        casesOnly: values.cases,
        unmoved: values.unmoved,
        conforming: variants.filter((_, index) => index % oneConforming === 0),
      })
      done.set(name, line)
      appendFileSync(values.out, `${JSON.stringify(line)}\n`)
    }
}

mkdirSync(dirname(values.out), { recursive: true })
if (!values.print && !values.mutants) await ask(variants, false)
if (!values.print && !values.variants) await ask(mutants, !values.all)
const known = new Set([...mutants, ...variants].map(({ id }) => id))
// Results of servers that no longer exist do not count.
const lines = [...done.values()].filter(({ id }) => known.has(id))
const reasons = new Map(broken.flatMap(({ id, missed: why }) => (why === undefined ? [] : [[id, why]])))
const summary = proofSummary(lines, sets, reasons)
console.log([...proofLists(lines, reasons), '', summary].join('\n'))
const missed = missedGoals(lines)
for (const one of missed) console.error(one)
if (missed.length > 0) process.exitCode = 1
if (values.write) writeBlock('docs/model.md', 'proof', summary)
