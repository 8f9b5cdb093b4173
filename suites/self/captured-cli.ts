import { afterEach, beforeEach, vi } from 'vitest'
import { main } from '../cli.ts'

/** What the command line printed in this test. */
export const captured = { out: '', complaints: '' }

/** Captures stdout and stderr during each test of the file, and keeps the exit code of the process. */
export function captureCli(): void {
  const exitCodeBefore = process.exitCode
  beforeEach(() => {
    captured.out = ''
    captured.complaints = ''
    process.exitCode = undefined
    const keep = (chunk: unknown): boolean => {
      captured.out += String(chunk)
      return true
    }
    vi.spyOn(process.stdout, 'write').mockImplementation(keep)
    vi.spyOn(console, 'log').mockImplementation((line) => void keep(`${line}\n`))
    vi.spyOn(console, 'error').mockImplementation((line) => {
      captured.complaints += `${line}\n`
    })
  })
  afterEach(() => {
    vi.restoreAllMocks()
    process.exitCode = exitCodeBefore
  })
}

/** Runs the command line in this process. @returns the exit code */
export async function call(...argv: string[]): Promise<number> {
  process.exitCode = undefined
  await main(argv)
  return Number(process.exitCode ?? 0)
}
