import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { usageError } from '../../engine/errors.ts'
import { demandPlaceFor } from './inputs.ts'
import type { RunOptions } from './options.ts'

interface NamedFile {
  /** As in `Cannot write the report`. */
  what: string
  file: string
}

/**
 * Checks before the first request that every output file can be written and is not also an input: a run may take minutes and create keys.
 *
 * @throws SuiteError (`usage`)
 */
export function demandOwnFiles(options: RunOptions): void {
  if (options.plan) return
  const { reporting, target } = options
  const reports = reporting.reports.flatMap(({ file }): NamedFile[] =>
    file === null ? [] : [{ what: 'the report', file }],
  )
  for (const { what, file } of reports) demandPlaceFor(file, what, true)
  if (reporting.known !== null && reporting.updateKnown) demandPlaceFor(reporting.known, 'the baseline', false)
  const testKeys = target?.keys.testKeysFile ?? null
  if (testKeys !== null) demandPlaceFor(testKeys, 'the kept test keys', true)
  const read = filesRead(options)
  for (const report of reports) {
    const same = read.find(({ file }) => isSameFile(file, report.file))
    if (same !== undefined)
      throw usageError(`Cannot write the report "${report.file}": it is ${same.what}; name another file`)
  }
}

/** Files that a report must not overwrite. */
function filesRead({ reporting, selection, target, inputs }: RunOptions): NamedFile[] {
  const named: [string, string | null][] = [
    ...inputs.map(({ what, file }): [string, string] => [what, file]),
    ['the baseline', reporting.known],
    ['the report of --failed', selection.failed],
    ['the kept test keys', target?.keys.testKeysFile ?? null],
  ]
  return named.flatMap(([what, file]) => (file === null ? [] : [{ what, file }]))
}

/** Also recognises symbolic and hard links, and a file that does not exist yet. */
function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }))
  if (first !== undefined && second !== undefined) return first.dev === second.dev && first.ino === second.ino
  return realPath(one) === realPath(other)
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    const folder = dirname(resolve(file))
    return folder === resolve(file) ? folder : join(realPath(folder), basename(file))
  }
}
