/**
 * Tries the package as users get it: packed and installed, on every supported Node. Needs the network. Exits with 1 when something does not hold.
 */
import { type SpawnSyncOptions, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { readArguments } from './arguments.ts'

readArguments({})

const supported = ['20.19', '22', '24']
const unsupported = ['12', '18', '20.18']
/** The user "nobody", who may read node_modules of root but not write there. */
const nobody = 65_534

const folder = mkdtempSync(join(tmpdir(), 'svc-package-'))
chmodSync(folder, 0o755)
let failures = 0

interface Ran {
  exitCode: number
  stdout: string
  printed: string
}

function run(command: string, args: string[], cwd: string, options: SpawnSyncOptions = {}): Ran {
  const { SVC_URL: _url, ...env } = process.env
  const result = spawnSync(command, args, {
    cwd,
    env: { ...env, NO_COLOR: '1', ...options.env },
    encoding: 'utf8',
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  })
  const stdout = String(result.stdout ?? '')
  return { exitCode: result.status ?? -1, stdout, printed: stdout + String(result.stderr ?? result.error ?? '') }
}

function check(claim: string, holds: boolean, ran?: Ran): void {
  console.log(`${holds ? '✓' : '✗'} ${claim}`)
  if (holds) return
  failures += 1
  if (ran !== undefined) console.log(ran.printed.split('\n').slice(-30).join('\n'))
}

function emptyFolder(name: string, files: { [name: string]: string } = {}): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  chmodSync(path, 0o777)
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

/** Does what a user does: runs the whole suite against the bundled server, and reads the verdict from a report. */
function checkRun(
  claim: string,
  [command, ...args]: [string, ...string[]],
  cwd: string,
  options: SpawnSyncOptions = {},
): void {
  const ran = run(command, [...args, 'run'], cwd, options)
  check(claim, ran.exitCode === 0 && ran.stdout.includes('Verdict: conforms'), ran)
}

function pack(): string {
  const packed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], packageRoot)
  const [{ filename, files, size }] = JSON.parse(packed.stdout) as [
    { filename: string; files: { path: string }[]; size: number },
  ]
  const paths = files.map(({ path }) => path)
  const expected =
    /^(dist\/(suites|mock-server|fixtures\/clients)\/|dist\/(corpus\.json|package-yaml\.json|compiled-schemas\.cjs)$|spec\/|fixtures\/|docs\/|package\.json$|[A-Z]+\.md$|LICENSE$)/
  const foreign = paths.filter((path) => !expected.test(path) || /\.test\.|suites\/(self|scripts)\//.test(path))
  check(
    `npm pack: ${paths.length} files, ${Math.round(size / 1024)} KiB, nothing that is not needed`,
    foreign.length === 0,
  )
  for (const path of foreign) console.log(`    ${path}`)
  const needed = [
    'dist/suites/bin.js',
    'dist/suites/lab/lab-page.html',
    'dist/corpus.json',
    'dist/mock-server/index.d.ts',
    'spec/requirements.yaml',
    'fixtures/test-keys.yaml',
    'LICENSE',
  ]
  for (const path of needed) check(`  contains ${path}`, paths.includes(path))
  return join(folder, filename)
}

function checkWithLinters(tarball: string): void {
  const publint = run('npx', ['publint', tarball, '--strict'], packageRoot)
  check('publint', publint.exitCode === 0, publint)
  const types = ['--profile', 'esm-only', '--entrypoints', 'mock-server', 'engine', 'suite']
  const attw = run('npx', ['attw', tarball, ...types], packageRoot)
  check('are the types wrong?', attw.exitCode === 0, attw)
}

const library = `import assert from 'node:assert'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startMockServer } from 'svc-conformance/mock-server'
import * as engine from 'svc-conformance/engine'
const server = await startMockServer()
const answer = await fetch(server.url + '/api', { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}' })
assert.strictEqual((await answer.json()).error.code, 24879)
await server.close()
assert(Object.keys(engine).length > 0)
for (const file of ['fixtures/test-keys.yaml', 'spec/requirements.yaml'])
  assert(existsSync(fileURLToPath(import.meta.resolve('svc-conformance/' + file))), file)
`

const typed = `import { startMockServer } from 'svc-conformance/mock-server'
import * as engine from 'svc-conformance/engine'
const server = await startMockServer({ clock: 'virtual' })
server.faults.add({ fault: 'drop', when: 'before', method: 'manager/auth' })
console.log(server.url satisfies string, server.journal.count({ verdict: 'accepted' }), engine)
`

/** The types hold where every declaration is checked, with no other package beside ours than the types of Node. */
function checkTypes(tarball: string): void {
  const cwd = emptyFolder('typed', { 'use.ts': typed })
  run('npm', ['install', '--no-audit', '--no-fund', tarball, '@types/node@20'], cwd)
  const compiler = join(packageRoot, 'node_modules', '.bin', 'tsc')
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node', 'use.ts']
  for (const [resolution, module] of Object.entries({ node16: 'node16', nodenext: 'nodenext', bundler: 'esnext' })) {
    const ran = run(compiler, ['--module', module, '--moduleResolution', resolution, ...strict], cwd)
    check(`skipLibCheck: false with moduleResolution ${resolution}`, ran.exitCode === 0, ran)
  }
}

function checkConsumers(tarball: string): void {
  const plain = emptyFolder('plain', { 'library.js': library })
  const installed = run('npm', ['install', '--no-audit', '--no-fund', tarball], plain)
  check('npm install into an empty folder', installed.exitCode === 0, installed)
  checkRun('npx svc-conformance run', ['npx', 'svc-conformance'], plain)
  const used = run('node', ['library.js'], plain)
  check('its exports: mock-server, engine, fixtures/*, spec/*', used.exitCode === 0, used)

  for (const version of ['3', '4']) {
    const own = emptyFolder(`vitest-${version}`, { 'cases.test.js': "import 'svc-conformance/suite'\n" })
    run('npm', ['install', '--no-audit', '--no-fund', tarball, `vitest@${version}`], own)
    const tested = run('npx', ['vitest', 'run'], own)
    check(`its cases as tests of vitest ${version}`, / [0-9]{3} passed/.test(tested.printed), tested)
  }

  const bin = join('node_modules', 'svc-conformance', 'dist', 'suites', 'bin.js')
  if (process.getuid?.() === 0) {
    checkRun('in a node_modules that cannot be written', ['node', bin], plain, {
      uid: nobody,
      env: { HOME: emptyFolder('home') },
    })
  } else {
    run('chmod', ['-R', 'a-w', 'node_modules'], plain)
    checkRun('in a node_modules that cannot be written', ['node', bin], plain)
    run('chmod', ['-R', 'u+w', 'node_modules'], plain)
  }

  checkRun('npx without an installation', ['npx', '--yes', '--package', tarball, 'svc-conformance'], emptyFolder('npx'))

  const pnpm = emptyFolder('pnpm')
  run('npx', ['--yes', 'pnpm@10', 'add', tarball], pnpm)
  checkRun('pnpm add, and pnpm exec', ['npx', '--yes', 'pnpm@10', 'exec', 'svc-conformance'], pnpm)
}

function installNode(version: string): string {
  const home = emptyFolder(`node-${version}`)
  run('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], home)
  return join(home, 'node_modules', 'node', 'bin', 'node')
}

function checkNodes(): void {
  const plain = join(folder, 'plain')
  const bin = join('node_modules', 'svc-conformance', 'dist', 'suites', 'bin.js')
  for (const version of supported) {
    const node = installNode(version)
    const exact = run(node, ['--version'], plain).stdout.trim()
    checkRun(`on Node ${version} (${exact})`, [node, bin], plain)
    const used = run(node, ['library.js'], plain)
    check('  and its exports', used.exitCode === 0, used)
  }
  for (const version of unsupported) {
    const ran = run(installNode(version), [bin, 'run'], plain)
    const sentence = /^Use Node 20\.19 or later to run svc-conformance, this is Node [\d.]+\n$/
    check(`one sentence and exit code 2 on Node ${version}`, ran.exitCode === 2 && sentence.test(ran.printed), ran)
  }
}

try {
  const tarball = pack()
  checkWithLinters(tarball)
  checkTypes(tarball)
  checkConsumers(tarball)
  checkNodes()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(failures === 0 ? 'The package holds' : `${failures} of these do not hold`)
process.exitCode = failures === 0 ? 0 : 1
