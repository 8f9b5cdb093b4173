/**
 * Measures how long the page of many servers takes to open in Chromium: 20 servers with 50 reports each, made up over the real cases. The
 * limit is 1 s from the start of the navigation to the drawn table, the best of three. Needs a build and Chromium. `--html FILE` keeps the page.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { allItems } from '../suites/engine/conversation/cases.ts'
import { loadCorpus } from '../suites/engine/language/corpus.ts'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { seededRandom } from '../suites/engine/signer/random.ts'
import { buildReport } from '../suites/report/build.ts'
import { addReport, type Comparison, noComparison } from '../suites/report/compare/comparison.ts'
import type { Report } from '../suites/report/report.ts'
import { launchChromium } from '../suites/self/chromium.ts'
import { madeUpCase, madeUpMeta } from '../suites/self/made-up-report.ts'
import { readArguments } from './arguments.ts'

const servers = 20
const reportsOfEach = 50
const limitMs = 1000
const { html } = readArguments({ options: { html: { type: 'string' } } }).values
const folder = mkdtempSync(join(tmpdir(), 'svc-compare-'))
const file = html ?? join(folder, 'compare.html')

const corpus = loadCorpus(packageRoot)
const items = allItems(corpus)
const random = seededRandom(1)

/** A report with every case of the suite, about a server that gets better with time. */
function madeUpReportOf(server: number, index: number): Report {
  const share = (0.1 * server * (reportsOfEach - index)) / (servers * reportsOfEach)
  const outcomes = items.map((item) => {
    const proves = item.kind === 'case' ? item.scenario.proves : []
    const verdict = random.below(10_000) < share * 10_000 ? 'failed' : 'passed'
    const sides = Object.fromEntries(proves.map((id) => [id, ['accepted' as const, 'refused' as const]]))
    return madeUpCase({
      key: item.key,
      proves,
      sides,
      verdict,
      title: item.kind === 'case' ? item.scenario.title : item.key,
    })
  })
  const started = new Date(Date.UTC(2026, 0, 1 + index, server)).toISOString()
  return buildReport({
    meta: { ...madeUpMeta, target: `https://server-${server + 1}.example`, started },
    outcomes,
    corpus,
    known: [],
    options: { strict: false, partial: null },
  })
}

const { comparisonPage } = (await import(
  pathToFileURL(join(packageRoot, 'dist/suites/report/compare/build-comparison.js')).href
)) as typeof import('../suites/report/compare/build-comparison.ts')
let comparison: Comparison = noComparison
for (let server = 0; server < servers; server += 1)
  for (let index = 0; index < reportsOfEach; index += 1)
    comparison = addReport(comparison, madeUpReportOf(server, index))
writeFileSync(file, await comparisonPage(comparison, { version: '0.1.0', made: new Date(Date.UTC(2026, 1, 20)) }))

const browser = await launchChromium()
const times: number[] = []
try {
  for (let round = 0; round < 3; round += 1) times.push(await openOnce())
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
const best = Math.min(...times)
console.log(`${times.map((ms) => `${ms} ms`).join(', ')}; limit ${limitMs} ms`)
process.exitCode = best <= limitMs ? 0 : 1

/** Milliseconds from the start of the navigation to the frame after the drawn table. */
async function openOnce(): Promise<number> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
  await page.goto(pathToFileURL(file).href)
  const ms = await page.evaluate<number>(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(Math.round(performance.now())))))',
  )
  const cells = await page.locator('tbody button').count()
  if (times.length === 0) console.log(`${cells} cells, ${Math.round(statSync(file).size / 1024)} KiB`)
  await page.close()
  return ms
}
