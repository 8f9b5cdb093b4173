import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../suites/engine/language/package-root.ts'

/** A figure of the benchmark: a median, with the reference of the same run that it is compared with, if there is one. */
export interface Figure {
  name: string
  value: number
  unit: 's' | 'ms' | 'calls/s' | '%' | 'packages' | 'MB'
  /** How many runs the value is the median of. */
  runs: number
  /** Measured in the same turns. */
  reference?: { name: string; value: number }
  /** The median of value divided by reference, turn by turn. */
  ratio?: number
  wanted: Wanted
}

/** What must hold: a bound of the value, of the ratio, or of both. */
interface Wanted {
  atMost?: number
  ratioAtMost?: number
  ratioAtLeast?: number
}

export interface Measure {
  /** Named by `--only`. */
  id: string
  run(turns: number): Promise<Figure[]>
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** The median of the ratios of each turn: within a turn both sides meet the same load of the machine. */
export function medianRatio(values: readonly number[], reference: readonly number[]): number {
  return median(values.map((value, turn) => value / (reference[turn] ?? value)))
}

interface Measured {
  name: string
  values: readonly number[]
}

/** A figure of values beside those of a reference, which were measured in the same turns. */
export const figureBeside = (
  { name, values }: Measured,
  reference: Measured,
  unit: Figure['unit'],
  wanted: Wanted,
): Figure => ({
  name,
  value: median(values),
  unit,
  runs: values.length,
  reference: { name: reference.name, value: median(reference.values) },
  ratio: medianRatio(values, reference.values),
  wanted,
})

export function valueText({ value, unit }: Pick<Figure, 'value' | 'unit'>): string {
  if (unit === 'calls/s') return `${Math.round(value).toLocaleString('en')} calls/s`
  if (unit === 'packages') return `${value}`
  if (unit === 'ms') return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`
}

/** What must hold of a figure, in words, and whether it does. */
function bounds({ value, ratio, wanted, unit }: Figure): { text: string; isMet: boolean }[] {
  const { atMost, ratioAtMost, ratioAtLeast } = wanted
  const atLeast = ratio ?? Number.POSITIVE_INFINITY
  return [
    atMost === undefined ? [] : { text: `at most ${valueText({ value: atMost, unit })}`, isMet: value <= atMost },
    ratioAtMost === undefined ? [] : { text: `ratio at most ${ratioAtMost}`, isMet: (ratio ?? 0) <= ratioAtMost },
    ratioAtLeast === undefined ? [] : { text: `ratio at least ${ratioAtLeast}`, isMet: atLeast >= ratioAtLeast },
  ].flat()
}

export const isMet = (figure: Figure): boolean => bounds(figure).every((bound) => bound.isMet)

/** The goals of a figure; each that is missed says so. */
export const wantedText = (figure: Figure): string =>
  bounds(figure)
    .map(({ text, isMet }) => (isMet ? text : `${text}: missed`))
    .join(', ')

/** A row of Markdown for each figure. */
export function figureTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, reference, ratio } = figure
    const neighbour =
      reference === undefined ? '' : `${reference.name}: ${valueText({ ...figure, value: reference.value })}`
    const cells = [name, valueText(figure), neighbour, ratio?.toFixed(2) ?? '', wantedText(figure), figure.runs]
    return `| ${cells.join(' | ')} |`
  })
  return ['| what | measured | compared with | ratio | goal | runs |', '|---|---|---|---|---|---|', ...rows].join('\n')
}

/** How long work takes, and the reference of several measures: a run of vitest with one empty test. */

const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs')

export async function seconds(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

export function node(args: string[], cwd = packageRoot): void {
  const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
}

/** Runs a script of package.json. If it fails, its output is kept in a file that the error names. */
export function npm(script: string): void {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', script], {
    cwd: packageRoot,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status === 0) return
  const file = join(packageRoot, '.build', `failed-${script.replace(':', '-')}.log`)
  writeFileSync(file, `${stdout}${stderr}`)
  throw new Error(`npm run ${script} ended with ${status}; what it printed is in ${file}`)
}

export const emptyTest = 'vitest with one empty test'

/** The figure of work that is done in turns with an empty test. */
export async function besideEmptyTest(name: string, work: () => void, turns: number, wanted: Wanted): Promise<Figure> {
  const ours: number[] = []
  const empty: number[] = []
  for (let turn = 0; turn < turns; turn += 1) {
    ours.push(await seconds(work))
    empty.push(await emptyTestSeconds())
  }
  return figureBeside({ name, values: ours }, { name: emptyTest, values: empty }, 's', wanted)
}

/** The time that any run of vitest takes. */
export async function emptyTestSeconds(): Promise<number> {
  const folder = mkdtempSync(join(packageRoot, '.build', 'empty-'))
  writeFileSync(join(folder, 'empty.test.js'), "import { test } from 'vitest'\ntest('nothing', () => {})\n")
  try {
    return await seconds(() => node([vitest, 'run', '--root', folder]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
