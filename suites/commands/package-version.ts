import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version
}
