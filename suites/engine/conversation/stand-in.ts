import type { TestKey } from '../language/fixture-types.ts'
import type { RootKey } from '../target.ts'

/**
 * The test key to use where a step needs a secret: root, or the one that test-keys.yaml names with `stands-in-for: root` when root has
 * a public key.
 */
export function standInOf(testKeys: readonly TestKey[], root: Pick<RootKey, 'kind'>): string {
  if (root.kind === 'secret') return 'root'
  return testKeys.find((testKey) => testKey['stands-in-for'] === 'root')?.name ?? 'root'
}
