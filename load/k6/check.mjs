/**
 * `npm run load-check`: the load scripts against the reference server, in less than a minute after the first build. Exits with 1 when
 * something does not hold. Without Go nothing is run, which is said; `--require-go` makes that a failure. `--measure SECONDS` runs only
 * the HMAC scenario for so long and prints its summary.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildK6, goVersion, testSigner } from './build.mjs'
import { createKey } from './create-key.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Without the REST server of k6, whose port two processes cannot share. */
const runCommand = ['run', '--quiet', '--no-color', '--no-usage-report', '--address', '']
const script = fileURLToPath(new URL('load.js', import.meta.url))
const runWithinMs = 60_000
/** The exit code of k6 when a threshold was crossed. */
const thresholdCrossed = 99

const { values: flags } = parseArgs({ options: { 'require-go': { type: 'boolean' }, measure: { type: 'string' } } })
const folder = mkdtempSync(join(tmpdir(), 'svc-load-'))
const servers = []
let failures = 0
let files = 0

function check(claim, holds, evidence = '') {
  console.log(`${holds ? '✓' : '✗'} ${claim}`)
  if (holds) return
  failures += 1
  if (evidence !== '') console.log(evidence)
}

/** Starts `serve`; resolves with its address and its initial key. */
async function startServer(...args) {
  const server = spawn(process.execPath, [join(root, 'dist/suites/bin.js'), 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  servers.push(server)
  for await (const line of createInterface({ input: server.stdout })) {
    const { url, apiKeyId, apiKeySecret } = JSON.parse(line)
    return { url, keyId: apiKeyId, keySecret: apiKeySecret }
  }
  throw new Error('Cannot start the reference server: run "npm run build" first')
}

/** Runs k6; resolves with its exit code, what it printed, and its summary. Nothing of the caller's own settings reaches it. */
async function runK6(k6, env, args = [...runCommand, script]) {
  files += 1
  const summaryFile = join(folder, `summary-${files}.json`)
  const child = spawn(k6, args, {
    env: { PATH: process.env.PATH, HOME: folder, K6_AUTO_EXTENSION_RESOLUTION: 'false', SUMMARY: summaryFile, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: runWithinMs,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const exitCode = await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject))
  return { exitCode, stdout, printed: `exit code ${exitCode}\n${stdout}${stderr}`, summary: readSummary(summaryFile) }
}

function readSummary(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { iterations: 0, calls: [], refusals: [], thresholds: [] }
  }
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
const callsOf = (summary) => sum(summary.calls.map(({ count }) => count))
const refusedOf = (summary) => sum(summary.calls.map(({ refused }) => refused))

async function settingsOf(server, withEccKey) {
  const env = { SVC_URL: server.url, SVC_KEY_ID: server.keyId, SVC_KEY_SECRET: server.keySecret, P95_MS: '5000' }
  if (!withEccKey) return env
  const file = join(folder, 'ecc.pem')
  return { ...env, SVC_ECC_KEY_ID: await createKey(server, file), SVC_ECC_PRIVATE_KEY: readFileSync(file, 'utf8') }
}

/** Every scenario passes, makes each of its kinds of calls, and makes as many iterations and calls as asked. */
async function checkScenarios(k6, env) {
  const chain = 5
  const scenarios = [
    { SCENARIO: 'hmac', iterations: 200, calls: 200 },
    { SCENARIO: 'ecc', iterations: 200, calls: 200 },
    { SCENARIO: 'grants', iterations: 100, calls: 100 },
    { SCENARIO: 'refresh', iterations: 20, calls: 20 * (1 + chain + 1) },
    { SCENARIO: 'mixed', iterations: 200 }, // the number of calls depends on which VU has a token
  ]
  for (const { SCENARIO, iterations, calls } of scenarios) {
    const ran = await runK6(k6, { ...env, SCENARIO, ITERATIONS: String(iterations), CHAIN: String(chain) })
    const { summary } = ran
    const made = callsOf(summary)
    const holds = ran.exitCode === 0 && summary.iterations === iterations && refusedOf(summary) === 0
    check(
      `${SCENARIO}: ${iterations} iterations, ${made} calls, none refused`,
      holds && made >= iterations && made === (calls ?? made),
      ran.printed,
    )
  }
}

/** Two generators share the work: together exactly what was asked, and each makes every kind of call. */
async function checkSegments(k6, env, SCENARIO) {
  const asked = 1001
  const shared = { ...env, SCENARIO, ITERATIONS: String(asked), VUS: '4', CHAIN: '2' }
  const segments = ['0:1/2', '1/2:1'].map((segment) => ['--execution-segment', segment])
  const sequence = ['--execution-segment-sequence', '0,1/2,1']
  const ran = await Promise.all(
    segments.map((segment) => runK6(k6, shared, [...runCommand, ...segment, ...sequence, script])),
  )
  const iterations = ran.map(({ summary }) => summary.iterations)
  const calls = sum(ran.map(({ summary }) => callsOf(summary)))
  const passed = ran.every(({ exitCode, summary }) => exitCode === 0 && refusedOf(summary) === 0)
  check(
    `two generators, ${SCENARIO}: ${iterations.join(' + ')} iterations of ${asked} asked`,
    passed && calls >= asked && sum(iterations) === asked && Math.min(...iterations) > 0,
    ran.map(({ printed }) => printed).join('\n'),
  )
}

/** A server that takes no right signature: the thresholds are crossed, and every refusal is counted with its code. */
async function checkRefusals(k6, env) {
  const ran = await runK6(k6, { ...env, SCENARIO: 'hmac', ITERATIONS: '50' })
  const [first, ...others] = ran.summary.refusals
  const crossed = ran.summary.thresholds.some(({ metric, held }) => metric === 'refused' && !held)
  check(
    `a server that refuses every signature crosses the thresholds: ${first?.count} × ${first?.reason}`,
    ran.exitCode === thresholdCrossed &&
      crossed &&
      first?.count === 50 &&
      /code -?\d+/.test(first.reason) &&
      !others.length,
    ran.printed,
  )
}

/** What the k6 operator does first, on a machine without keys. */
async function checkArchive(k6) {
  const archive = join(folder, 'load.tar')
  const archived = await runK6(k6, {}, ['archive', script, '-O', archive, '-e', 'SCENARIO=hmac', '-e', 'VUS=40'])
  const ran = await runK6(k6, {}, ['inspect', '--execution-requirements', archive])
  const holds = archived.exitCode === 0 && ran.exitCode === 0 && JSON.parse(ran.stdout).maxVUs === 40
  check('the script is archived and inspected without keys', holds, archived.printed + ran.printed)
  const missing = await runK6(k6, {})
  const told = missing.exitCode !== 0 && missing.printed.includes('Set SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET')
  check('a run without keys names the settings that are missing', told, missing.printed)
}

/** docs/load.md: the output has the form of a real one, and each setting that it names is one that the script reads. */
async function checkDocs(k6, env) {
  const docs = readFileSync(join(root, 'docs/load.md'), 'utf8')
  const ran = await runK6(k6, { ...env, SCENARIO: 'hmac', DURATION: '1s' })
  const shown = /^hmac: .*?^Thresholds: .*?$/ms.exec(docs)?.[0] ?? ''
  check('docs/load.md shows an output as it is', formOf(shown) === formOf(ran.stdout), `${shown}\n${ran.printed}`)
  const settings = readFileSync(fileURLToPath(new URL('settings.js', import.meta.url)), 'utf8')
  const listed = [...docs.matchAll(/^\| `([A-Z0-9_]+)` \|(?! one iteration)/gm)].map(([, name]) => name)
  const read = [...settings.matchAll(/__ENV\.(\w+)|(?:wholeNumber|share)\('(\w+)'/g)].map(([, a, b]) => a ?? b)
  const same = [...new Set(read)].sort().join(' ')
  check(
    'docs/load.md lists the settings that the script reads',
    listed.sort().join(' ') === same,
    `${listed.join(' ')}\n${same}`,
  )
}

/** A text without its numbers, addresses and widths. */
function formOf(text) {
  return text
    .replace(/http\S+/g, 'URL')
    .replace(/\d[\d.,]*/g, '#')
    .replace(/ +/g, ' ')
    .trim()
}

async function main() {
  const version = goVersion()
  if (version === undefined) {
    console.log('Not run: the load scripts need k6 built from source, and Go is not installed')
    return flags['require-go'] ? 1 : 0
  }
  const k6 = buildK6(version)
  const server = await startServer()
  if (flags.measure !== undefined) {
    const env = { ...(await settingsOf(server, false)), SCENARIO: 'hmac', DURATION: `${flags.measure}s` }
    const ran = await runK6(k6, env)
    process.stdout.write(ran.exitCode === 0 ? ran.stdout : ran.printed)
    return ran.exitCode === 0 ? 0 : 1
  }
  testSigner()
  check('the signer makes every signature of fixtures/vectors.json', true)
  const env = await settingsOf(server, true)
  await checkScenarios(k6, env)
  await checkSegments(k6, env, 'hmac')
  await checkSegments(k6, env, 'mixed')
  await checkRefusals(k6, await settingsOf(await startServer('--mutant', 'whole-mac-expected'), false))
  await checkArchive(k6)
  await checkDocs(k6, env)
  return failures === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  for (const server of servers) server.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
