/** For tests: folders of their own, which go away when all tests have ended (suites/vitest.config.ts). */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'svc-test-'))

/** A new folder, with the path of a file in it, and ways to write one and to read it. */
export function openFolder() {
  const folder = newFolder()
  const at = (...names: string[]): string => join(folder, ...names)
  /** @returns the path of the file */
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(at(name), content)
    return at(name)
  }
  return { folder, at, write, read: (name: string): string => readFileSync(at(name), 'utf8') }
}
