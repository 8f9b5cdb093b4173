import type { Command } from 'commander'
import { packageRoot } from '../engine/language/package-root.ts'
import { type FlatVector, flatVectors, loadVectors } from '../engine/language/vectors.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { fromBase64Strict, utf8 } from '../engine/signer/bytes.ts'
import { writeOut } from './console.ts'
import { visibleLines } from './visible.ts'

/** `vectors [--json]`: every signature vector with its stages. */
export function registerVectors(program: Command): void {
  program
    .command('vectors')
    .description('print every signature vector with its stages')
    .option('--json', 'print flat JSON for other languages, as in fixtures/vectors.json')
    .action((flags: { json?: boolean }) => {
      const flat = flatVectors(loadVectors(packageRoot))
      writeOut(flags.json === true ? jsonLine(flat, 2) : printableLines(flat.vectors.map(vectorText).join('\n')))
    })
}

/** One vector for people. */
function vectorText(vector: FlatVector): string {
  const { id, title, why, valid, failsAt, received } = vector
  const data = fromBase64Strict(vector.dataToSignBase64) ?? utf8('')
  const values: [string, string | undefined][] = [
    ['key id', vector.keyId],
    ['secret', vector.secret],
    ['sha256', vector.dataToSignSha256],
    ['mac', vector.mac],
    ['first 20', vector.macFirst20],
    ['signature', vector.signature],
    ['header', vector.header],
    ['received', received],
  ]
  return [
    `${id}  ${title}${valid ? '' : ` (refused at ${failsAt})`}`,
    ...(why === undefined ? [] : [`  ${why}`]),
    ...shortened(visibleLines(data)).map((line, at) => `  ${(at === 0 ? 'data' : '').padEnd(11)}${line}`),
    ...values.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(11)}${value}`])),
    '',
  ].join('\n')
}

/** Long lines are cut for reading; --json has them whole. */
function shortened(lines: readonly string[]): string[] {
  return lines.map((line) => (line.length > 160 ? `${line.slice(0, 120)} … (${line.length} characters)` : line))
}
