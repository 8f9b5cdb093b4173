import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../engine/language/package-root.ts'
import { demand } from '../../engine/language/schemas.ts'
import { readYaml } from '../../engine/language/yaml-source.ts'
import type { RequirementSet } from '../../report/outcomes.ts'

/** The set of every case of this version of the suite. */
export const everyCase = 'current'

/** The versions of the frozen requirement sets of this package. */
export function requirementSets(): string[] {
  return readdirSync(join(packageRoot, 'spec', 'sets')).map((name) => name.replace(/\.yaml$/, ''))
}

/** Reads a frozen set; null for `current`, which is not frozen. @throws SuiteError (`fixture`) if the file does not fit its schema */
export function readRequirementSet(version: string): RequirementSet | null {
  if (version === everyCase) return null
  const file = `spec/sets/${version}.yaml`
  const source = readYaml(readFileSync(join(packageRoot, file), 'utf8'), file)
  demand(source, 'requirement-set')
  return source.value as RequirementSet
}
