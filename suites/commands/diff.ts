import type { Item } from '../engine/conversation/cases.ts'
import { usageError } from '../engine/errors.ts'
import { groupBy } from '../engine/group.ts'
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import { jsonLine, line, lines, type Printable, printable } from '../engine/printable.ts'
import { seededRandom, shuffled } from '../engine/signer/random.ts'
import { compareReports } from '../report/compare/tables.ts'
import { printBlocks } from '../report/text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import * as flag from '../run/flags.ts'
import { readReportFile } from '../run/inputs.ts'
import { diffTargets, observingItems } from '../run/observe.ts'
import { readTargetOptions, serverFlags, type TargetOptions } from '../run/options.ts'
import { urlTarget } from '../targets/url.ts'
import { writeError, writeOut } from './console.ts'

type ServerDiff = Awaited<ReturnType<typeof diffTargets>>

/** The flags of a server, each for one of the two or for both. */
const serversFlags = Object.fromEntries(
  Object.entries(serverFlags).map(([name, { syntax, about }]) => [
    name,
    flag.many(syntax, about.replace(' (SVC_URL)', '')),
  ]),
) as { [name in keyof typeof serverFlags]: flag.Flag<string[]> }

const diffFlags = {
  json: flag.mark('--json', 'print the differences as JSON'),
  ...flag.grouped('Two servers (give --url twice)', {
    ...serversFlags,
    allow: flag.value('--allow <classes>', 'sessions: also grant tokens'),
    disposable: flag.mark('--disposable', 'these instances may be filled'),
    rate: flag.value('--rate <number>', 'maximum number of calls a second'),
    wait: flag.value('--wait <seconds>', 'how long to wait for a server to come up', flag.number.notNegative),
    calls: flag.value('--calls <number>', 'how many calls to make to each server; 150 by default', flag.number.count),
    seed: flag.value('--seed <number>', 'another order of the calls', flag.number.notNegative),
  }),
}

const usualCalls = 150

const help = `
Exit codes: 0 alike, 1 a verdict differs, 2 wrong usage, 3 a server cannot be used. Flags of a key may be
given once for both servers, or twice: for the first and for the second.

  npx svc-conformance diff old.json new.json
  npx svc-conformance diff --url http://127.0.0.1:8080 --url http://127.0.0.1:8081 --allow sessions`

export const command: flag.Command<typeof diffFlags, string[]> = {
  about: 'compare the verdicts of two JSON reports, or the answers of two servers; exit code 1 if they differ',
  operand: ['[reports...]', 'two JSON reports (run --report json=FILE)'],
  flags: diffFlags,
  help,
  run(typed, files) {
    const { json, ...ofServers } = typed
    const comparesServers = Object.keys(ofServers).length > 0
    if (comparesServers && files.length > 0)
      throw usageError('Compare two reports or two servers, not both: remove the reports or the flags')
    if (comparesServers) return runDiffServers(typed)
    const [one, other, ...more] = files
    if (one === undefined || other === undefined || more.length > 0)
      throw usageError('Name two reports to compare, or two servers with "--url A --url B"')
    const { diff, text, differs } = compareReports(readReportFile(one), readReportFile(other))
    writeOut(json === true ? jsonLine(diff, 2) : text)
    return differs ? 1 : 0
  },
}

/**
 * Makes the same calls to two servers and prints where the answers differ.
 *
 * @returns the exit code
 */
async function runDiffServers(typed: flag.Typed<typeof diffFlags>): Promise<number> {
  const [a, b] = [targetOf(typed, 0), targetOf(typed, 1)]
  const { calls, wait, json, ...flags } = flag.read(diffFlags, typed)
  const allow = a.allow.filter((one) => one === 'sessions' && b.allow.includes(one))
  const lasting = allow.includes('sessions') ? 'grants tokens and opens two sessions' : 'creates nothing that lasts'
  for (const doubt of new Set([...a.doubts, ...b.doubts])) writeError(lines([printable(doubt)]))
  const asked = calls ?? usualCalls
  writeError(lines([line`Plan: about ${asked} calls to each server; ${lasting}`]))
  const seed = flags.seed ?? 1
  const corpus = await openCorpus()
  const items = itemsForCalls(corpus, { allow, calls: asked, seed })
  const patientMs = (wait ?? 0) * 1000
  const diff = await diffTargets(urlTarget(a), urlTarget(b), { corpus, items, allow, seed, patientMs })
  writeOut(json ? jsonLine(diff, 2) : renderServerDiff(diff))
  return verdictsThatDiffer(diff) > 0 ? 1 : 0
}

/** @throws SuiteError (`usage`) */
function targetOf(typed: flag.Typed<typeof diffFlags>, place: 0 | 1): TargetOptions {
  const { wait: _ofStart, ...ofServers } = typed
  const own: { [name: string]: string | boolean } = {}
  for (const [name, texts] of Object.entries(ofServers)) {
    const values = [texts].flat()
    if (values.length > 2 && name !== 'url')
      throw usageError('Give a flag once for both servers, or twice: for the first and for the second')
    const given = values[place] ?? (name === 'url' ? undefined : values[0])
    if (given !== undefined) own[name] = given
  }
  const target = readTargetOptions(own, process.env)
  const urls = [typed.url ?? []].flat().length
  if (target === null || urls > 2 || (urls === 1 && [typed.target ?? []].flat().length !== 2))
    throw usageError('Name two servers, as in "--url https://a.example --url https://b.example"')
  return target
}

/** How many calls that one server accepts are refused, or not answered, by the other. */
const verdictsThatDiffer = ({ differences }: ServerDiff): number =>
  differences.filter((one) => one.in.includes('outcome')).length

/** The differences as a table for a terminal; repeated ones are one row. */
function renderServerDiff(diff: ServerDiff): Printable {
  const { a, b, calls, differences } = diff
  const alike = `${calls - differences.length} of ${calls} calls are answered alike`
  const rows = differences.map(({ call, in: where, a, b }) => [call, describe(a), describe(b), where.join(', ')])
  const distinct = groupBy(rows, (row) => JSON.stringify(row)).values()
  return printBlocks([
    { kind: 'lines', lines: [`A  ${a}`, `B  ${b}`] },
    {
      kind: 'table',
      head: ['call', 'A', 'B', 'differs in', 'times'],
      rows: [...distinct].map(([row = [], ...same]) => [...row, String(same.length + 1)]),
    },
    { kind: 'lines', lines: [`${alike}; ${verdictsThatDiffer(diff)} differ in their outcome`] },
  ])
}

function describe({ outcome, status, code, shape }: ServerDiff['differences'][number]['a']): string {
  if (outcome === 'accepted') return `accepted ${shape}`
  const http = status === null ? 'no answer' : `HTTP ${status}`
  return `${outcome}, ${http}${code === null ? '' : `, error ${code}`}`
}

/** The observing cases that these permissions allow, in the order of a seed, until their calls reach a number. */
function itemsForCalls(
  corpus: Corpus,
  { allow, calls, seed }: { allow: readonly SafetyClass[]; calls: number; seed: number },
): Item[] {
  let left = calls
  return shuffled(observingItems(corpus), seededRandom(seed)).filter((item) => {
    if (left <= 0 || item.kind !== 'case') return false
    const { needs, steps } = item.scenario
    if (needs.some((need) => !allow.some((one) => one === need))) return false
    left -= steps.length
    return true
  })
}
