/** Builds k6 with the signer by the plain Go toolchain: `node build.mjs` prints the path of the program. Built once per state of the sources. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const buildWithinMs = 15 * 60_000
/** The same flags for build and test, so that both share what is compiled. */
const sharedFlags = ['-p', '1', '-trimpath']

/** @returns {string | undefined} what `go version` prints, undefined without Go */
export function goVersion() {
  const ran = spawnSync('go', ['version'], { cwd: folder, encoding: 'utf8' })
  return ran.status === 0 ? ran.stdout.trim() : undefined
}

/**
 * @param {string} version as goVersion returns it
 * @returns {string} the path of the program
 */
export function buildK6(version) {
  const program = join(folder, 'bin', `k6-${hashOfSources(version)}`)
  if (existsSync(program)) return program
  console.error('Building k6 from source, which takes some minutes the first time')
  const unfinished = `${program}.${process.pid}`
  runGo(['build', ...sharedFlags, '-ldflags', '-s -w', '-o', unfinished, '.'])
  renameSync(unfinished, program)
  return program
}

/** Runs the Go tests of the signer: the signature vectors of the repository. */
export function testSigner() {
  runGo(['test', ...sharedFlags, './signer'])
}

function runGo(args) {
  const ran = spawnSync('go', args, { cwd: folder, stdio: ['ignore', 2, 2], timeout: buildWithinMs })
  if (ran.status !== 0) throw new Error(`Cannot run "go ${args[0]}": ${ran.error?.message ?? 'its output is above'}`)
}

function hashOfSources(version) {
  const signer = readdirSync(join(folder, 'signer')).map((name) => join('signer', name))
  const sources = ['go.mod', 'go.sum', 'main.go', ...signer.filter((name) => !name.endsWith('_test.go')).sort()]
  const hash = createHash('sha256').update(version)
  for (const name of sources) hash.update(`\0${name}\0`).update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const version = goVersion()
  if (version === undefined) {
    console.error('Install Go 1.25 or newer: k6 is built from source')
    process.exitCode = 1
  } else console.log(buildK6(version))
}
