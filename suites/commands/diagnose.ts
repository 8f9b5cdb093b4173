import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { callersDataSays } from '../diagnose/callers-data.ts'
import { type DiagnoseInput, type Diagnosis, diagnose } from '../diagnose/diagnose.ts'
import { verify } from '../diagnose/verify.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { parseRequirements } from '../engine/fixture/parse.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { addCheckFlags, type CheckFlags, readCheck } from './signature-flags.ts'

/** `diagnose`: names the mistake in a refused header; exit 0 valid, 1 explained, 3 unexplained. */
export function registerDiagnose(program: Command): void {
  const command = program.command('diagnose').description('name the mistake in a header that is refused')
  addCheckFlags(command).action((flags: CheckFlags) => {
    const input = readCheck(flags)
    const result = diagnose(input)
    process.stdout.write(
      flags.json === true ? `${JSON.stringify(diagnoseJson(result))}\n` : diagnoseText(input, result),
    )
    process.exitCode = result.valid ? 0 : result.explained ? 1 : 3
  })
}

/** What `diagnose --json` prints. */
export function diagnoseJson({ valid, explained, mistakes, ruledOut }: Diagnosis) {
  return { valid, explained, mistakes, ruledOut }
}

/** What `diagnose` prints for people. */
export function diagnoseText(input: DiagnoseInput, result: Diagnosis): string {
  const lines = result.valid ? ['Valid: the header is right for this request and key'] : [...stagesLine(input), '']
  lines.push(...result.mistakes.flatMap(mistakeLines))
  if (result.alternatives.length > 0) {
    lines.push('The same bytes come out when', ...result.alternatives.map(({ title, id }) => `  ${title} (${id})`), '')
  }
  lines.push(...callersDataSays(input).flatMap((sentence) => [sentence, '']))
  if (!result.valid && !result.explained) lines.push(...unexplainedLines(input, result))
  return `${lines.join('\n').trimEnd()}\n`
}

function stagesLine(input: DiagnoseInput): string[] {
  const failed = verify(input).stages.filter(({ ok }) => !ok)
  return [`Not valid at: ${failed.map(({ name }) => name).join(', ')}`]
}

function mistakeLines({ id, title, requirement, fix }: Diagnosis['mistakes'][number]): string[] {
  return [
    `✗ ${title}`,
    `    Mistake   ${id}`,
    `    Sentence  ${requirement}: ${requirementTexts().get(requirement) ?? ''}`,
    `              spec/interface.md#${requirement.replace('/', '-')}`,
    `    Fix       ${fix}`,
    '',
  ]
}

function unexplainedLines({ key, url }: DiagnoseInput, { mistakes, ruledOut }: Diagnosis): string[] {
  const guess = `most likely another ${key.kind === 'secret' ? 'secret' : 'private key'}`
  return [
    mistakes.length === 0 ? `No known mistake: ${guess}` : `The signature has a further, unknown mistake: ${guess}`,
    ...(url === undefined ? ['With "--url" mistakes with host, base path and query are tried as well'] : []),
    '',
    `Ruled out, each alone and with every other one (${ruledOut.length}):`,
    ...ruledOut.map((id) => `  ${id.padEnd(44)}${mistakeById(id)?.title ?? ''}`.trimEnd()),
  ]
}

let texts: Map<string, string> | undefined

function requirementTexts(): Map<string, string> {
  const file = 'spec/requirements.yaml'
  texts ??= new Map(
    parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file).map(({ id, text }) => [id, text]),
  )
  return texts
}
