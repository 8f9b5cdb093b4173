/**
 * `npm run bench [-- --only ID]… [--turns N] [--write]`: prints every figure with the reference of the same run that it is
 * compared with, and writes bench.json. `--write` puts the figures into README.md and scripts/bench/last.json, where those that were
 * not measured now stay. Exit 1: a figure is worse than wanted; 2: an unknown figure. The figures mean something on a quiet machine only.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { writeBlock } from '../suites/self/sources.ts'
import { readArguments } from './arguments.ts'
import { type Figure, figureTable, isMet, type Measure, valueText, wantedText } from './bench/measure.ts'
import { runMeasures, testsMeasure } from './bench/runs.ts'
import { serverMeasures } from './bench/server.ts'
import { watchMeasures } from './bench/watch.ts'

const measures: readonly Measure[] = [...runMeasures, ...serverMeasures, ...watchMeasures, testsMeasure]

interface Bench {
  node: string
  cores: number
  figures: Figure[]
}

const { values } = readArguments({
  options: {
    only: { type: 'string', multiple: true },
    turns: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
})

async function main(): Promise<0 | 1 | 2> {
  const chosen = measures.filter(({ id }) => values.only?.includes(id) ?? true)
  const known = measures.map(({ id }) => id)
  const unknown = values.only?.find((id) => !known.includes(id))
  if (unknown !== undefined) {
    console.error(`--only ${unknown}: there is no such figure; name ${known.join(', ')}`)
    return 2
  }
  const bench: Bench = { node: process.version, cores: cpus().length, figures: [] }
  console.log(`Node ${bench.node}, ${bench.cores} cores, medians of ${values.turns} turns\n`)
  for (const { run } of chosen) {
    for (const figure of await run(Number(values.turns))) {
      bench.figures.push(figure)
      print(figure)
    }
  }
  writeFileSync('bench.json', `${JSON.stringify(bench, undefined, 2)}\n`)
  if (values.write) write(bench)
  return bench.figures.every(isMet) ? 0 : 1
}

function write(bench: Bench): void {
  const last = join(packageRoot, 'scripts', 'bench', 'last.json')
  const before = (JSON.parse(readFileSync(last, 'utf8')) as Bench).figures
  const kept = values.only === undefined ? [] : before
  const figures = [...new Map([...kept, ...bench.figures].map((figure) => [figure.name, figure])).values()]
  writeFileSync(last, `${JSON.stringify({ ...bench, figures }, undefined, 2)}\n`)
  writeBlock('README.md', 'speed', figureTable(figures))
}

function print(figure: Figure): void {
  const { name, reference, ratio } = figure
  const neighbour =
    reference === undefined ? '' : `, ${reference.name} ${valueText({ ...figure, value: reference.value })}`
  const ratioText = ratio === undefined ? '' : `, ratio ${ratio.toFixed(2)}`
  const goal = wantedText(figure) === '' ? '' : ` (${wantedText(figure)})`
  console.log(`${isMet(figure) ? '✓' : '✗'} ${name}: ${valueText(figure)}${neighbour}${ratioText}${goal}`)
}

process.exitCode = await main().catch((error: Error) => {
  console.error(`Cannot measure: ${error.message}`)
  return 1
})
