/**
 * Every case as a test of vitest, against the bundled server or the one at SVC_URL (its key in SVC_KEY_ID and SVC_KEY_SECRET). SVC_FLAGS holds
 * further flags of `run`, as in `--disposable`. The command makes the run, so that created keys are removed and noted as always.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { packageRoot } from './engine/language/package-root.ts'
import type { Report } from './report/report.ts'

const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const flags = process.env.SVC_FLAGS?.split(' ').filter((flag) => flag !== '') ?? []
const { stdout, stderr } = await promisify(execFile)(process.execPath, [bin, 'run', '--report', 'json', ...flags], {
  maxBuffer: 2 ** 30,
}).catch((ended: { stdout: string; stderr: string }) => ended)
if (stdout === '') throw new Error(stderr)
const report: Report = JSON.parse(stdout)

for (const { key, verdict, problem } of report.cases)
  test(key, ({ skip }) => {
    if (verdict === 'failed' || verdict === 'blocked') throw new Error(problem?.message ?? verdict)
    skip(verdict !== 'passed' && verdict !== 'warned', problem?.message)
  })

for (const { requirement, message } of report.findings)
  test(`the model of the document: ${requirement}`, () => {
    throw new Error(message)
  })

test('the whole run', () => {
  expect(report.exitCode, stderr).toBe(0)
})
