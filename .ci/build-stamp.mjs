/**
 * `npm test` need not build what is built. Writes the digest of the sources that were built; with --check exits with 1 if the build is
 * not of these sources, and with --tell says so.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const sources = [
  '.config',
  'fixtures',
  'mock-server',
  'package-lock.json',
  'package.json',
  'spec',
  'suites',
  'tsconfig.json',
]
const stampFile = join('.build', 'dist.sha256')

const hash = createHash('sha256').update(process.version)
const add = (path) => {
  if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name))
  else if (!path.endsWith('.test.ts')) hash.update(`${path}\n`).update(readFileSync(path))
}
for (const path of sources) add(path)
const digest = hash.digest('hex')

const isBuilt = existsSync(join('dist', 'suites', 'bin.js')) && read() === digest
if (process.argv.includes('--check')) {
  if (!isBuilt) process.exitCode = 1
} else if (process.argv.includes('--tell')) {
  if (!isBuilt)
    console.error(
      'dist/ is not built from these sources: "npm run build", or tests of the command line try the old one',
    )
} else {
  mkdirSync('.build', { recursive: true })
  writeFileSync(stampFile, digest)
}

function read() {
  try {
    return readFileSync(stampFile, 'utf8')
  } catch {
    return ''
  }
}
