/** The CI recipes: every command of theirs is run, with `npx svc-conformance` being the command line of this checkout. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import { readRunOptions } from '../run/options.ts'
import { startMockServer } from '../targets/bundled.ts'
import { chromiumMissing, launchChromium, openPage } from './chromium.ts'
import { freePorts, printedBy } from './printed-by.ts'
import { isProof, onlyInProof, partUnlessProof } from './proof-form.ts'
import { shipped } from './sources.ts'
import { openFolder } from './temporary.ts'

const { at, write } = openFolder()
/** A whole run against a URL waits for lifetimes to pass; the commands are what is tested here. */
const onlySome = isProof ? ['authorization', 'basic'] : ['authorization']
const tools = at('tools')
mkdirSync(tools)
const npx = write(
  'tools/npx',
  `#!/bin/sh
[ "$1" = --yes ] && shift
case "$1" in svc-conformance|svc-conformance@*) shift;; *) echo "npx $*: not expected in a recipe" >&2; exit 97;; esac
[ "$1" = run ] && set -- "$@" ${onlySome.map((id) => `--only ${id}`).join(' ')} $MORE
exec node "${join(packageRoot, 'dist', 'suites', 'bin.js')}" "$@"
`,
)
chmodSync(npx, 0o755)

/** Outside of a proof some recipes only print the plan of their run. */
const planUnlessProof = { MORE: isProof ? '' : '--plan' }

/** Runs a script in bash as the CI systems do, in a folder of its own. */
async function sh(script: string, cwd: string, env: { [name: string]: string } = {}) {
  mkdirSync(cwd, { recursive: true })
  const { SVC_URL: _url, ...outer } = process.env
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd,
    env: { ...outer, PATH: `${tools}:${process.env.PATH}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = printedBy(child)
  const [exitCode] = await once(child, 'close')
  return { exitCode, printed: printed() }
}

async function withServer<T>(use: (env: { [name: string]: string }) => Promise<T>): Promise<T> {
  const server = await startMockServer()
  try {
    return await use({ SVC_URL: server.url, SVC_KEY_ID: server.rootKey.id, SVC_KEY_SECRET: server.rootKey.secret })
  } finally {
    await server.close()
  }
}

const yaml = (file: string) => readYaml(shipped(file), file).value

interface ActionStep {
  id?: string
  env?: { [name: string]: string }
  run?: string
  uses?: string
}

describe('the composite action', () => {
  const action = yaml('.github/actions/run/action.yml') as {
    inputs: { [name: string]: { default?: string; required?: boolean } }
    runs: { steps: ActionStep[] }
  }
  const step = (id: string): ActionStep => action.runs.steps.find((one) => one.id === id) as ActionStep
  /** Runs a step as the action would with these inputs. */
  const runStep = (id: string, cwd: string, inputs: { [name: string]: string }, more: object = {}) => {
    const { env = {}, run = '' } = step(id)
    const words = Object.entries(env).map(([name, value]) => {
      const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1] ?? ''
      expect(Object.keys(action.inputs)).toContain(input)
      return [name, inputs[input] ?? action.inputs[input]?.default ?? '']
    })
    return sh(run, cwd, { ...Object.fromEntries(words), ...more })
  }

  test('runs the suite, keeps every report and writes the summary', () =>
    withServer(async ({ SVC_URL = '', SVC_KEY_ID = '', SVC_KEY_SECRET = '' }) => {
      const cwd = at('action')
      const inputs = { url: SVC_URL, 'key-id': SVC_KEY_ID, 'key-secret': SVC_KEY_SECRET, disposable: 'true' }
      const ran = await runStep('run', cwd, inputs)
      expect(ran.printed).toContain('Verdict: inconclusive')
      expect(ran.exitCode).toBe(0)
      const files = ['junit.xml', 'report.html', 'report.json', 'summary.md']
      expect(readdirSync(join(cwd, 'conformance')).sort()).toEqual(files)
      const summary = join(cwd, 'step-summary.md')
      await runStep('summary', cwd, inputs, { GITHUB_STEP_SUMMARY: summary })
      expect(readFileSync(summary, 'utf8')).toContain('inconclusive')
      for (const file of files)
        expect(readFileSync(join(cwd, 'conformance', file), 'utf8')).not.toContain(SVC_KEY_SECRET)
    }))

  test('passes flags and exit codes on', async () => {
    const cwd = at('action-flags')
    const key = { 'key-id': 'a', 'key-secret': 'not-a-secret' }
    const inputs = { url: 'http://127.0.0.1:9', ...key, known: 'a b.yaml', strict: 'true' }
    const ran = await runStep('run', cwd, inputs)
    expect(ran.printed).toContain('Cannot read the baseline "a b.yaml"')
    expect(ran.exitCode).toBe(2)
  })

  test('no input becomes part of a script', () => {
    for (const { run } of action.runs.steps) expect(run ?? '').not.toContain('${{')
  })
})

test('the plain line', () =>
  withServer(async (env) => {
    const cwd = at('plain')
    const ran = await sh(shipped('.ci/recipes/plain.sh'), cwd, { ...env, ...planUnlessProof })
    expect(ran.exitCode).toBe(0)
    expect(ran.printed).toContain('Plan: ')
    if (isProof) expect(XMLValidator.validate(readFileSync(join(cwd, 'conformance', 'junit.xml'), 'utf8'))).toBe(true)
  }))

test('the GitLab include', () =>
  withServer(async (env) => {
    const file = yaml('.ci/recipes/gitlab.yml') as {
      [job: string]: { script: string[]; variables: { [name: string]: string } }
    }
    const job = file['svc-conformance']
    const cwd = at('gitlab')
    write('my known.yaml', '[]\n')
    const variables = { ...job?.variables, SVC_KNOWN: '../my known.yaml', SVC_ALLOW: 'sessions' }
    const ran = await sh(job?.script.join('\n') ?? '', cwd, { ...variables, ...env, ...planUnlessProof })
    expect(ran.printed).toContain('Plan: ')
    if (isProof) expect(ran.printed).toContain('Verdict:')
    expect(ran.exitCode).toBe(0)
    if (isProof)
      expect(readdirSync(join(cwd, 'conformance')).sort()).toEqual(['junit.xml', 'report.html', 'report.json'])
  }))

describe('the matrix of shards', () => {
  type Job = { strategy: { matrix: { shard: number[] } }; steps: ActionStep[] }
  const { jobs } = yaml('.ci/recipes/github-shards.yml') as { jobs: { shard: Job; merge: Job } }
  const commands = (steps: ActionStep[]): string[] => steps.flatMap(({ run }) => (run === undefined ? [] : [run]))

  test.skipIf(!isProof)(
    onlyInProof('runs every shard on a separate server and merges the reports into one'),
    async () => {
      const cwd = at('shards')
      const all = jobs.shard.strategy.matrix.shard
      // The recipe's own port may be taken on this machine.
      const ports = await freePorts(all.length)
      const runShard = async (shard: number, index: number): Promise<void> => {
        const [start = '', run = ''] = commands(jobs.shard.steps).map((text) =>
          text.replace(/\$\{\{ matrix\.shard \}\}/g, String(shard)),
        )
        const env = jobs.shard.steps.find((step) => step.env !== undefined)?.env ?? {}
        expect(run).toContain(`/${all.length}"`)
        const here = (text: string): string => text.replaceAll('9111', String(ports[index]))
        const script = `trap 'kill $(jobs -p)' EXIT\n${here(start)}\n${here(run)}`
        const ran = await sh(script, cwd, { ...env, SVC_URL: here(env.SVC_URL ?? '') })
        expect(ran.printed, `shard ${shard}`).toContain('Verdict: inconclusive (exit code 0)')
        expect(existsSync(join(cwd, 'shards', `${shard}.json`))).toBe(true)
      }
      await Promise.all(all.map(runShard))
      const [merge = '', summarize = ''] = commands(jobs.merge.steps)
      const merged = await sh(merge, cwd)
      expect(merged.printed).toContain('Verdict: inconclusive (exit code 1)')
      expect(merged.printed).toContain('--strict')
      await sh(summarize, cwd, { GITHUB_STEP_SUMMARY: join(cwd, 'summary-of-the-job.md') })
      expect(readFileSync(join(cwd, 'summary-of-the-job.md'), 'utf8')).toContain('inconclusive')
    },
  )
})

/** A CI with secrets must fetch the version that was chosen, not the one that was published last. */
const { version } = JSON.parse(shipped('package.json')) as { version: string }
const ofCi = readdirSync(join(packageRoot, '.ci', 'recipes')).map((name) => `.ci/recipes/${name}`)
const files = ['.github/actions/run/action.yml', ...ofCi]

test.each(files)('the recipe %s names the version that it belongs to, and never the latest', (file) => {
  const text = shipped(file)
  expect(text).not.toContain('latest')
  // A version in a variable is one of the defaults below.
  const fetched = [...text.matchAll(/(?:npx --yes|npm install [^\n]*) "?svc-conformance(@[^\s"]+)?/g)]
  for (const [, wanted] of fetched) {
    expect(wanted).toMatch(/^@/)
    if (!wanted?.includes('$')) expect(wanted).toBe(`@${version}`)
  }
  const defaults = [...text.matchAll(/VERSION[:=] ?"?([\w.]+)"?$|Version of [^\n]*\n\s*default: "?([\w.]+)"?$/gm)]
  for (const [, variable, input] of defaults) expect(variable ?? input).toBe(version)
  expect(defaults.length > 0).toBe(fetched.some(([, wanted]) => wanted?.includes('$')))
})

describe('the container recipe', () => {
  const lines = shipped('.ci/recipes/Containerfile')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const instruction = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))

  test('has known instructions only, and names the version of its base image', () => {
    for (const line of lines) expect(line).toMatch(/^(FROM|ARG|RUN|USER|WORKDIR|ENTRYPOINT|CMD) \S/)
    expect(instruction('FROM')).toEqual([expect.stringMatching(/^[\w./-]+:\d[\w.-]*$/)])
    expect(instruction('ARG')).toEqual([`VERSION=${JSON.parse(shipped('package.json')).version}`])
  })

  test('does not run as root, and contains no secret', () => {
    const user = lines.indexOf('USER node')
    expect(user).toBeGreaterThan(0)
    expect(user).toBeLessThan(lines.findIndex((line) => line.startsWith('ENTRYPOINT')))
    expect(lines.join('\n')).not.toMatch(/secret|password|ENV/i)
  })

  test('its command is valid for the command line', async () => {
    const [entrypoint = ''] = instruction('ENTRYPOINT')
    const [command = ''] = instruction('CMD')
    expect(JSON.parse(entrypoint)).toEqual(['svc-conformance'])
    const [run, ...flags] = JSON.parse(command) as string[]
    expect(run).toBe('run')
    expect(flags.filter((_, index) => index % 2 === 0)).toEqual(['--report', '--report', '--report'])
    expect(readRunOptions({ report: flags.filter((_, index) => index % 2 === 1) }, {}).report).toHaveLength(3)
  })
})

/** Every recipe of fixtures/recipes reproduces every vector, in each language that is on this machine; the others are listed. */

const recipesFolder = join(packageRoot, 'fixtures', 'recipes')
const table = readFileSync(join(recipesFolder, 'vectors.tsv'), 'utf8')
const cases = table
  .split('\n')
  .slice(0, -1)
  .map((line) => line.split('\t'))
/** Outside of a proof some of them: the recipe for a shell starts several processes for each. */
const tried = partUnlessProof(cases, 8)

type Command = [string, ...string[]]

const rustTarget = join(packageRoot, 'node_modules', '.cache', 'recipes-rust')
const manifest = ['--manifest-path', 'rust/Cargo.toml']
const runRust: Command = ['cargo', 'run', '--offline', '--quiet', ...manifest, '--target-dir', rustTarget]
const fetchRust: Command = ['cargo', 'fetch', '--offline', '--quiet', ...manifest]
const ofRust = 'cargo, and its three crates: cargo fetch --manifest-path fixtures/recipes/rust/Cargo.toml'
const node = process.execPath
/** The probe shows whether the language is installed. Outside of a proof the languages that need no compiler are enough. */
const recipes: [language: string, command: Command, probe: Command, needs: string, compiles?: boolean][] = [
  ['shell', ['sh', 'sign.sh'], ['openssl', 'pkeyutl', '-help'], 'sh and OpenSSL 3'],
  ['Python', ['python3', 'sign.py'], ['python3', '-c', 'import cryptography'], 'python3 with "cryptography"'],
  ['Go', ['go', 'run', 'sign.go'], ['go', 'version'], 'go', true],
  ['Java', ['java', 'Sign.java'], ['javac', '-version'], 'a JDK of 17 or later', true],
  ['Rust', runRust, fetchRust, ofRust, true],
  ['JavaScript on node', [node, 'sign-node.mjs'], [node, '-v'], 'node'],
]

describe('recipes', () => {
  test('the table has every vector', () => {
    expect(cases.length).toBeGreaterThanOrEqual(24)
    for (const columns of cases) expect(columns.length).toBe(10)
  })

  for (const [language, command, probe, needs, compiles = false] of recipes) {
    const isLeftOut = compiles && !isProof
    const here = isLeftOut || run(probe, '').status === 0
    const name = `${language}${here ? '' : ` (NOT RUN: needs ${needs})`}`
    test.skipIf(isLeftOut || !here)(isLeftOut ? onlyInProof(name) : name, () => {
      const { status, stdout, stderr } = run(command, tried.map((columns) => `${columns.join('\t')}\n`).join(''))
      expect({ status, stderr: status === 0 ? '' : stderr, lines: stdout.split('\n').slice(0, -1) }).toEqual({
        status: 0,
        stderr: '',
        lines: tried.map((columns) => columns[9]),
      })
    })
  }

  test('WebCrypto, on node', async () => {
    const { sign } = (await import(join(recipesFolder, 'sign-browser.mjs'))) as { sign: WebSign }
    for (const columns of cases) expect(await sign(requestOf(columns))).toBe(columns[9])
  })

  const inChromium = `WebCrypto, in Chromium${chromiumMissing}`
  const isOpened = isProof && chromiumMissing === ''
  test.skipIf(!isOpened)(isProof ? inChromium : onlyInProof(inChromium), async () => {
    const browser = await launchChromium()
    try {
      const page = await openPage(browser)
      // WebCrypto exists in secure contexts only, and localhost is one; no server is asked.
      await page.route('http://localhost/', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }),
      )
      await page.goto('http://localhost/')
      const source = readFileSync(join(recipesFolder, 'sign-browser.mjs'), 'utf8')
      await page.addScriptTag({ type: 'module', content: `${source}\nglobalThis.sign = sign` })
      await page.waitForFunction(() => 'sign' in globalThis)
      // Typed arrays cannot be passed to a page.
      const passed = cases.map(requestOf).map(({ body, pkcs8, ...rest }) => {
        return { ...rest, body: [...body], ...(pkcs8 && { pkcs8: [...pkcs8] }) }
      })
      const made = await page.evaluate((requests) => {
        const { sign } = globalThis as unknown as { sign: WebSign }
        const bytes = (numbers: number[]) => new Uint8Array(numbers)
        const withBytes = ({ body, pkcs8, ...rest }: (typeof requests)[number]) =>
          sign({ ...rest, body: bytes(body), ...(pkcs8 && { pkcs8: bytes(pkcs8) }) })
        return Promise.all(requests.map(withBytes))
      }, passed)
      expect(made).toEqual(tried.map((columns) => columns[9]))
    } finally {
      await browser.close()
    }
  })
})

type WebSign = (request: ReturnType<typeof requestOf>) => Promise<string>

function requestOf(columns: readonly string[]) {
  const [kind, scheme = '', keyId = '', key = '', method = '', uri = '', body = '', timestamp = '', nonce = ''] =
    columns
  const ofKey: { secret?: string; pkcs8?: Uint8Array } =
    kind === 'hmac' ? { secret: key } : { pkcs8: new Uint8Array(Buffer.from(key, 'base64')) }
  const bytes = new Uint8Array(Buffer.from(body === '-' ? '' : body, 'base64'))
  return {
    scheme,
    keyId,
    ...ofKey,
    method,
    uri,
    body: bytes,
    timestamp,
    nonce,
  }
}

function run([program, ...args]: readonly [string, ...string[]], input: string) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: recipesFolder, input, encoding: 'utf8' })
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' }
}
