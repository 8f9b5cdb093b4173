import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/fixture/package-root.ts'

/** The versions of the frozen requirement sets of this package. */
export function requirementSets(root: string = packageRoot): string[] {
  const folder = join(root, 'spec', 'sets')
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []))
}
