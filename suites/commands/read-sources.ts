import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import { documentFile, filesOfCases, type Sources } from '../report/html.ts'
import type { Report } from '../report/report.ts'

/** The texts of this package that the page of a report embeds. Missing files are left out. */
export function readSources({ cases }: Pick<Report, 'cases'>): Sources {
  const files = [documentFile, ...filesOfCases(cases)].filter((file) => existsSync(join(packageRoot, file)))
  return new Map(files.map((file) => [file, readFileSync(join(packageRoot, file), 'utf8')]))
}
