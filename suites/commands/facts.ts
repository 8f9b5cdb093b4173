import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { jsonLine, line, lines, printable } from '../engine/printable.ts'
import { planFacts, planLines } from '../facts/plan.ts'
import { renderFacts } from '../facts/text.ts'
import { demandPlaceFor, replaceFile } from '../run/files.ts'
import { measureTarget } from '../run/measure-target.ts'
import type { RunFlags } from '../run/options.ts'
import { readTargetOptions } from '../run/options.ts'
import { positive } from '../run/values.ts'
import { packageVersion, writeError, writeOut } from './console.ts'
import { addTargetFlags } from './run-flags.ts'

interface FactsFlags extends RunFlags {
  json?: boolean
  asProfile?: string
  nonceWait?: string
}

const afterHelp = `
Exit codes: 0 measured; 2 wrong usage; 3 the target cannot be used; 130 interrupted. Nothing is judged.

  npx svc-conformance facts --url http://127.0.0.1:8080 --allow sessions --as-profile profile.json
  npx svc-conformance serve --profile profile.json              a mock of that server`

/** `facts`: what a server does where the document is silent. */
export function registerFacts(program: Command): void {
  addTargetFlags(
    program
      .command('facts')
      .description('measure what a server does where the document is silent; nothing is judged')
      .argument('[url]', 'the same as --url'),
  )
    .option('--plan', 'print the plan, and stop')
    .option('--wait <seconds>', 'how long to wait for the server to come up')
    .option('--nonce-wait <seconds>', 'how long to wait to see when a nonce is forgotten; 0 by default')
    .optionsGroup('What to print')
    .option('--json', 'for scripts (spec/schemas/facts.schema.json)')
    .option('--as-profile <file>', 'write a profile for "serve --profile FILE": a mock of this server')
    .addHelpText('after', afterHelp)
    .action(async (url: string | undefined, flags: FactsFlags) => {
      await run(url === undefined ? flags : { ...flags, url })
    })
}

async function run(flags: FactsFlags): Promise<void> {
  const { asProfile } = flags
  const target = readTargetOptions(flags, process.env)
  if (target === null) throw usageError('Name the server to measure, as in "--url https://service.example"')
  if (asProfile !== undefined) demandPlaceFor(asProfile, 'the profile', true)
  const { allow, root, url, settings } = target
  const say = (text: string): void => writeError(lines([printable(text)]))
  for (const text of planLines(planFacts(allow, root.kind === 'secret'), settings.cleanup !== undefined)) say(text)
  if (flags.plan === true) return
  const started = new Date().toISOString()
  const { sheet, left } = await measureTarget(target, {
    patientMs: positive('--wait', flags.wait, 0) * 1000,
    maxWaitMs: positive('--nonce-wait', flags.nonceWait, 0) * 1000,
    say,
  })
  if (asProfile !== undefined) replaceFile(asProfile, jsonLine(sheet.profile, 2), 'the profile')
  const meta = { version: packageVersion(), target: url, started, allow, node: process.version }
  writeOut(flags.json === true ? jsonLine({ meta, ...sheet }, 2) : renderFacts(sheet, url))
  for (const text of left) say(`Left on the target: ${text}`)
  if (asProfile !== undefined) writeError(lines([line`Wrote ${asProfile}`]))
}
