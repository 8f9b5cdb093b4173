/**
 * Every case as a test of vitest, against the bundled server or the one at SVC_URL (its key in SVC_KEY_ID and SVC_KEY_SECRET). SVC_FLAGS holds
 * further flags of `run`, as in `--disposable --only basic`; quotes keep a value with blanks together. The command makes the run, so created keys
 * are removed and noted as always; what it prints goes to stderr.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from './engine/language/package-root.ts'
import { blockedByKnown, verdictOfFinding } from './report/causes.ts'
import type { Report } from './report/report.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-suite-'))
const file = join(folder, 'report.json')
const words = process.env.SVC_FLAGS?.match(/([^\s"']|"[^"]*"|'[^']*')+/g) ?? []
const flags = words.map((word) => word.replaceAll(/["']/g, ''))
const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const run = spawn(process.execPath, [bin, 'run', '--report', `json=${file}`, ...flags], { stdio: ['ignore', 2, 2] })
const [exitCode] = await once(run, 'close')
if (!existsSync(file))
  throw new Error(`svc-conformance run ended with ${exitCode}, without a report; its words are above`)
const report: Report = JSON.parse(readFileSync(file, 'utf8'))
rmSync(folder, { recursive: true })

/** An error without a stack, which would only show this file. */
const failure = (lines: (string | undefined)[]): Error => {
  const message = lines.filter((line) => line !== undefined).join('\n')
  return Object.assign(new Error(message), { stack: message })
}

for (const one of report.cases)
  test(one.key, ({ skip }) => {
    const { verdict, title, problem, again } = one
    if (verdict === 'failed' || (verdict === 'blocked' && !blockedByKnown(report.cases, one)))
      throw failure([title, problem?.message, problem?.hint?.message, problem?.where, `Repeat it: ${again}`])
    if (verdict !== 'passed' && verdict !== 'warned') skip(problem?.message ?? verdict)
    expect(verdict).toMatch(/passed|warned/)
  })

for (const [index, finding] of report.findings.entries())
  test(`the model of the document, ${index + 1}: ${finding.requirement}`, ({ skip }) => {
    if (verdictOfFinding(finding) === 'failed') throw failure([finding.message, ...finding.steps, finding.hint])
    skip(finding.message)
  })

test('the whole run', () => {
  if (exitCode !== 0)
    throw failure([`svc-conformance run ended with ${exitCode}; its words are above`, ...report.conclusion])
  expect(exitCode).toBe(0)
})
