/** How long work takes, and the reference of several measures: a run of vitest with one empty test. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../suites/engine/language/package-root.ts'

export const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs')

export async function seconds(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

export function node(args: string[], cwd = packageRoot): void {
  const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
}

/** Runs a script of package.json. If it fails, its output is kept in a file that the error names. */
export function npm(script: string): void {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', script], {
    cwd: packageRoot,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status === 0) return
  const file = join(packageRoot, '.build', `failed-${script.replace(':', '-')}.log`)
  writeFileSync(file, `${stdout}${stderr}`)
  throw new Error(`npm run ${script} ended with ${status}; what it printed is in ${file}`)
}

export const emptyTest = 'vitest with one empty test'

/** The time that any run of vitest takes. */
export async function emptyTestSeconds(): Promise<number> {
  const folder = mkdtempSync(join(packageRoot, '.build', 'empty-'))
  writeFileSync(join(folder, 'empty.test.js'), "import { test } from 'vitest'\ntest('nothing', () => {})\n")
  try {
    return await seconds(() => node([vitest, 'run', '--root', folder]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
