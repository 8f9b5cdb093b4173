import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseRequirements } from '../engine/language/parse.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import {
  type DiagnoseInput,
  type Diagnosis,
  diagnose,
  type NextStep,
  nextSteps,
  unexplainedSentence,
} from '../lab/diagnose.ts'
import { ownDataSentences } from '../lab/own-data.ts'
import { verify } from '../lab/verify.ts'
import { writeOut } from './console.ts'
import { addCheckFlags, type CheckFlags, readCheck } from './signature-flags.ts'

/** `diagnose`: names the mistake in a refused header; exit 0 valid, 1 explained, 3 unexplained. */
export function registerDiagnose(program: Command): void {
  const command = program.command('diagnose').description('name the mistake in a refused header')
  addCheckFlags(command).option('--verbose', 'list the mistakes that were ruled out')
  command.action((flags: CheckFlags & { verbose?: boolean }) => {
    const input = readCheck(flags)
    const result = diagnose(input)
    writeOut(
      flags.json === true ? jsonLine(diagnoseJson(result)) : printableLines(diagnoseText(input, result, flags.verbose)),
    )
    process.exitCode = result.valid ? 0 : result.explained ? 1 : 3
  })
}

/** What `diagnose --json` prints. */
export function diagnoseJson({ valid, explained, mistakes, ruledOut }: Diagnosis) {
  return { valid, explained, mistakes, ruledOut }
}

/** What `diagnose` prints for people. */
export function diagnoseText(input: DiagnoseInput, result: Diagnosis, isVerbose = false): string {
  const lines = result.valid ? ['Valid: the header is right for this request and key'] : [...stagesLine(input), '']
  lines.push(...result.mistakes.flatMap(mistakeLines))
  if (result.alternatives.length > 0) {
    lines.push('The same bytes come out when', ...result.alternatives.map(({ title, id }) => `  ${title} (${id})`), '')
  }
  lines.push(...ownDataSentences(input).flatMap((sentence) => [sentence, '']))
  if (!result.valid && !result.explained) lines.push(...unexplainedLines(input, result, isVerbose))
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

const stepTexts: { [step in NextStep]: string } = {
  'check-empty-body': 'The body given here is empty. If one was sent, give it with "--body-file FILE"',
  'give-own-data':
    'Write the data that your code signs to a file, byte by byte, and name it with "--data-to-sign-file FILE": their first wrong byte is pointed at',
  'mend-own-data': 'Correct the data that your code signs at the byte named above, then sign again',
  'compare-key':
    'Your data are right, so look at the key: compare its length and its first bytes where your code computes the signature',
  'give-url': 'Give the URL that was called with "--url": mistakes with host, base path and query are tried as well',
}

function unexplainedLines(input: DiagnoseInput, result: Diagnosis, isVerbose: boolean): string[] {
  const { ruledOut } = result
  const list = ruledOut.map((id) => `  ${id.padEnd(44)}${mistakeById(id)?.title ?? guessedTitle(id)}`.trimEnd())
  return [
    unexplainedSentence(input, result),
    '',
    ...nextSteps(input).map((step, at) => `${at === 0 ? 'Next  ' : 'Then  '}${stepTexts[step]}`),
    '',
    ...(isVerbose
      ? [`Ruled out, alone and together with others (${ruledOut.length}):`, ...list]
      : ['"--verbose" lists the mistakes that were ruled out']),
  ]
}

/** A mistake that was made up for one request has no title; its id is enough. */
function guessedTitle(id: string): string {
  return id.replace(/^[a-z]+\//, '').replaceAll('-', ' ')
}

let texts: Map<string, string> | undefined

function requirementTexts(): Map<string, string> {
  const file = 'spec/requirements.yaml'
  texts ??= new Map(
    parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file).map(({ id, text }) => [id, text]),
  )
  return texts
}
