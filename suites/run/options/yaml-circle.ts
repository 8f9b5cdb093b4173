import type { Path } from '../../engine/language/yaml-source.ts'

/** Finds the place where a value contains itself, as an alias in YAML may; undefined if there is none. */
export function pathToItself(value: unknown, path: Path = [], around: readonly unknown[] = []): Path | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (around.includes(value)) return path
  for (const [key, inner] of Object.entries(value)) {
    const found = pathToItself(inner, [...path, key], [...around, value])
    if (found !== undefined) return found
  }
  return undefined
}
