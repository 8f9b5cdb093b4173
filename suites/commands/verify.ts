import type { Command } from 'commander'
import { jsonLine, printableLines } from '../engine/printable.ts'
import type { DiagnoseInput } from '../lab/diagnose.ts'
import { type Stage, type Verification, verify } from '../lab/verify.ts'
import { writeOut } from './console.ts'
import { addCheckFlags, type CheckFlags, demandOneKey, readCheck, type Surroundings } from './signature-flags.ts'

/** `verify`: checks a header stage by stage; exit 0 valid, 1 not. */
export function registerVerify(program: Command): void {
  const command = program.command('verify').description('check a signed header stage by stage')
  addCheckFlags(command).action((flags: CheckFlags) => {
    const input = verifyInputOf(flags)
    const result = verify(input)
    writeOut(flags.json === true ? jsonLine(result) : printableLines(verifyText(result, input.header)))
    process.exitCode = result.valid ? 0 : 1
  })
}

/** What to verify. Further secrets are for `diagnose`, to which the same flags can be given. @throws SuiteError (`usage`) */
export function verifyInputOf(flags: CheckFlags, around?: Surroundings): DiagnoseInput {
  const [first] = flags.secrets ?? []
  demandOneKey(first === undefined ? flags : { ...flags, secrets: [first] }, 'verify')
  return readCheck(flags, around)
}

/** What `verify` prints for people. */
export function verifyText({ valid, stages }: Verification, header: string): string {
  const failed = stages.filter(({ ok }) => !ok).map(({ name }) => name)
  const verdict = valid ? 'Valid: every stage is right' : `Not valid: ${failed.join(', ')}`
  const last = valid ? [] : ['`svc-conformance diagnose` with the same flags looks for the mistake']
  return [...stages.flatMap((stage) => stageLines(stage, header)), '', verdict, ...last, ''].join('\n')
}

function stageLines({ name, ok, expected, received }: Stage, header: string): string[] {
  if (ok) return [`✓ ${name}`]
  // A header without a space has no scheme word, so its beginning is shown.
  const shown = name === 'scheme' && received === '' ? header.trim() : (received ?? '')
  return [`✗ ${name}`, `    expected  ${expected ?? ''}`, `    received  ${shown === '' ? '(empty)' : shown}`]
}
