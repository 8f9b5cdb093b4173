import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import { isProof, partUnlessProof, turnUnlessProof } from './proof-form.ts'
import { blockIn, drawImports, findUpwardArrows, readImports, shipped } from './sources.ts'

const arrows = readImports(packageRoot)

test('the drawing in docs/architecture.md is up to date; npm run imports -- --write renews it', () => {
  expect(blockIn(shipped('docs/architecture.md'), 'imports')).toBe(drawImports(arrows))
})

test('every import leads from an upper folder to a lower one, so that there is no circle', () => {
  expect(findUpwardArrows(arrows)).toEqual([])
  const upward = { from: 'suites/engine/judge', to: 'suites/report' }
  const unknown = { from: 'suites/report', to: 'suites/attic' }
  expect(findUpwardArrows([...arrows, upward, unknown])).toEqual([upward, unknown])
})

/** Texts that say where things are. */
const guides = [
  ...['README.md', 'CONTRIBUTING.md', 'fixtures/README.md', 'fixtures/worlds/README.md', 'suites/servers/README.md'],
  ...readdirSync(join(packageRoot, 'docs')).map((name) => `docs/${name}`),
]

test('no register names a page that readers of the package do not have', () => {
  const { files } = JSON.parse(shipped('package.json')) as { files: string[] }
  const registers = ['spec', 'fixtures'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const named = registers
    .filter((file) => /\.(ya?ml|json)$/.test(file))
    .flatMap((file) => shipped(file).match(/(?<![\w./-])[a-z-]+\/[\w./-]+\.md\b/g) ?? [])
  expect(named).toContain('docs/sets.md')
  const isThere = (page: string) => files.includes(page.split('/')[0] ?? '') && existsSync(join(packageRoot, page))
  expect(named.filter((page) => !isThere(page))).toEqual([])
})

test.each(guides)('the files and folders that %s names exist', (guide) => {
  const folders = '(?:\\.ci|docs|fixtures|load|mock-server|scripts|spec|suites)'
  const path = new RegExp(`(?<![\\w./-])${folders}/[\\w./-]*(?:\\.\\w+|/)(?=\\.?(?:[\\s\`;,:)]|$))`, 'gm')
  const named = shipped(guide).match(path) ?? []
  expect(named.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
})

interface Line {
  /** Path from the package root. */
  file: string
  /** The path from the package root for a relative import, otherwise the module as written. */
  imported: string
}

const modules = ['mock-server', 'suites', 'spec', 'fixtures'].flatMap((folder) =>
  readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .filter((file) => /\.(ts|mts|js|mjs)$/.test(file) && !file.startsWith('suites/self/foreign/')),
)

const importing =
  /(?:^(?:import|export)\b[^'\n]*\bfrom\s+|^\} from\s+|^import\s+|\bimport\(\s*|\brequire\(\s*)'([^']+)'/gm
const fromRoot = (file: string, name: string) => (name.startsWith('.') ? join(dirname(file), name) : name)
const lines: Line[] = modules.flatMap((file) =>
  Array.from(shipped(file).matchAll(importing), ([, name = '']) => ({ file, imported: fromRoot(file, name) })),
)

const isTest = (file: string): boolean => /\.(test|suite)\.ts$/.test(file)
const strays = (imports: (line: Line) => boolean, mayBeIn: (file: string) => boolean): string[] =>
  lines
    .filter((line) => imports(line) && !mayBeIn(line.file))
    .map(({ file, imported }) => `${file} imports ${imported}`)
const ofPackage =
  (name: string) =>
  ({ imported }: Line): boolean =>
    imported === name || imported.startsWith(`${name}/`)

test.each(['CONTRIBUTING.md', 'docs/architecture.md'])(
  'the functions, values and definitions that %s names exist',
  (guide) => {
    const named = [...shipped(guide).matchAll(/`([a-z]+[A-Z]\w*)(?:\([\w, ]*\))?`/g)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(5)
    const code = [...modules, 'spec/schemas/fixture.schema.json'].map((file) => shipped(file)).join('\n')
    expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([])
  },
)

test('the rows of servers that CONTRIBUTING.md shows are in the code', () => {
  const rows = [...shipped('CONTRIBUTING.md').matchAll(/`('[\w-]+': .*?,)`/g)].map(([, row = '']) => row)
  expect(rows.length).toBeGreaterThan(2)
  const servers = modules.filter((file) => file.startsWith('suites/servers/')).map((file) => shipped(file))
  const lines = new Set(servers.flatMap((text) => text.split('\n').map((line) => line.trim())))
  expect(rows.filter((row) => !lines.has(row))).toEqual([])
})

describe('two witnesses that share no code', () => {
  test('suites/ meets mock-server/ in one file, and where servers are broken', () => {
    const inMock = ({ imported }: Line): boolean => imported.startsWith('mock-server/')
    const itself = (file: string): boolean =>
      /^(mock-server|suites\/servers)\/|^suites\/targets\/bundled\.ts$/.test(file)
    expect(lines.some((line) => inMock(line) && line.file === 'suites/targets/bundled.ts')).toBe(true)
    expect(strays(inMock, itself)).toEqual([])
  })

  test('mock-server/ never imports suites/, not even in its tests', () => {
    expect(lines.filter(({ file, imported }) => /^mock-server/.test(file) && /^suites/.test(imported))).toEqual([])
  })

  test('the server checks signatures with node:crypto alone, and the suite makes them without it', () => {
    expect(strays(ofPackage('@noble'), (file) => file.startsWith('suites/engine/signer/'))).toEqual([])
    const signers = lines.filter(({ file }) => file.startsWith('suites/engine/signer/') && !isTest(file))
    const outside = signers.filter(({ imported }) => !/^suites\/engine\/|^@noble\//.test(imported))
    // A plain hash is one of the wrong secrets that are tried; it signs nothing.
    const onlyHashes = ({ file, imported }: Line): boolean =>
      imported === 'node:crypto' && shipped(file).includes("import { createHash } from 'node:crypto'")
    expect(outside.filter((line) => !onlyHashes(line))).toEqual([])
  })

  test('spec/ imports nothing, and the recipes in fixtures/ import nothing of ours', () => {
    expect(modules.filter((file) => file.startsWith('spec/'))).toEqual([])
    const besideIt = ({ file, imported }: Line): boolean => dirname(imported) === dirname(file)
    const recipes = lines.filter(({ file }) => file.startsWith('fixtures/'))
    expect(recipes.filter((line) => !line.imported.startsWith('node:') && !besideIt(line))).toEqual([])
  })
})

describe('each package has one home', () => {
  const homes: [name: string, home: RegExp][] = [
    ['express', /^mock-server\/http-server\.ts$/],
    ['supertest', /^mock-server\/[\w-]+\.test\.ts$/],
    ['httpxy', /^suites\/watch\/proxy\.ts$/],
    ['yaml', /^suites\/engine\/language\/|\.test\.ts$/],
    ['ajv', /^suites\/engine\/(language|judge)\/|^suites\/build-steps|\.test\.ts$/],
    ['@noble', /^suites\/engine\/signer\//],
    ['fast-check', /^suites\/explore\/|\.test\.ts$/],
    ['commander', /^suites\/(cli\.ts$|commands\/)/],
    ['rolldown', /^suites\/(page\/build-page|build-steps)\.ts$/],
    [
      'vitest',
      /^suites\/(vitest\.config|self\/(reporters|captured-cli))\.ts$|\.(test|suite)\.ts$|^mock-server\/test-[\w-]+\.ts$/,
    ],
  ]
  test.each(homes)('%s', (name, home) => {
    expect(lines.filter(ofPackage(name))).not.toEqual([])
    expect(strays(ofPackage(name), (file) => home.test(file))).toEqual([])
  })

  test('shipped code imports no other package', () => {
    const shippedCode = (file: string): boolean =>
      !isTest(file) && !/^suites\/(scripts|self)\/|^suites\/vitest\.config\.ts$/.test(file)
    const isOurs = ({ imported }: Line): boolean => /^((mock-server|suites|fixtures)\/|node:)/.test(imported)
    const hasHome = (line: Line): boolean => homes.some(([name]) => ofPackage(name)(line))
    expect(lines.filter((line) => shippedCode(line.file) && !isOurs(line) && !hasHome(line))).toEqual([])
  })
})

describe('the engine', () => {
  const engine = modules.filter((file) => file.startsWith('suites/engine/') && !isTest(file))

  test('opens no socket and starts no process', () => {
    const edges = /^node:(http|https|http2|net|tls|dgram|child_process|worker_threads)$/
    expect(lines.filter(({ file, imported }) => engine.includes(file) && edges.test(imported))).toEqual([])
  })

  test('reads no clock and no randomness except its parameters', () => {
    const reading = /\bDate\.now\(|new Date\(\)|\bsetTimeout\(|\bMath\.random\(/
    expect(engine.filter((file) => reading.test(shipped(file)))).toEqual([])
  })
})

/** Who may print, and who may vouch for a text: read from the sources, since a type can be cast away. */
const printing = modules.filter((file) => /^suites\/(?!self\/).*(?<!\.test)\.ts$/.test(file))

/** Files that contain the pattern and are not listed. */
function strangers(pattern: RegExp, listed: readonly string[]): string[] {
  const isListed = (file: string) => listed.some((one) => file === one || (one.endsWith('/') && file.startsWith(one)))
  return printing.filter((file) => !isListed(file) && pattern.test(shipped(file)))
}

test('one file writes to stdout and stderr; the exceptions have a reason', () => {
  const listed = [
    'suites/commands/console.ts',
    // One sentence about the version of Node, before anything else can be loaded.
    'suites/bin.ts',
    // Errors, line by line made printable.
    'suites/cli.ts',
    'suites/commands/console.ts',
    // A step of the build.
    'suites/build-assets.ts',
  ]
  expect(strangers(/process\.std(out|err)\.write\(|console\.(log|error|warn|info)\(/, listed)).toEqual([])
})

test('only reports, which are made of a printable copy, are vouched for', () => {
  const listed = ['suites/engine/printable.ts', 'suites/report/', 'suites/commands/write-reports.ts']
  expect(strangers(/\bvouchedFor\b/, listed)).toEqual([])
})

test('nothing else makes text printable', () => {
  expect(strangers(/as Printable\b/, ['suites/engine/printable.ts'])).toEqual([])
})

/** How many files an option of `run` may pass through, from its flag to where it has its effect. */
const mostFiles = 15

/** Folders and commands that `run` does not go through. */
const elsewhere = /^suites\/(self|client|watch|explore|facts|diff|lab|engine\/model|commands\/(?!run)[^/]+\.ts)/

const codeOfRun = printing
  .filter((file) => !elsewhere.test(file))
  .map((file) => [file, shipped(file).replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')] as const)

test.each([
  ['--token-prefix', /\btokenPrefix\b|--token-prefix/],
  ['--bail', /\bbail\b/],
  ['--timeout', /\b(timeoutSeconds|endsAtMs)\b|--timeout/],
  ['--concurrency', /\bconcurrency\b/],
  ['--wait', /\b(waitSeconds|longestWaitMs|maxWaitMs)\b|'--wait|flags\.wait\b/],
])('%s passes through few files', (_option, name) => {
  const named = codeOfRun.filter(([, code]) => name.test(code)).map(([file]) => file)
  expect(named.length).toBeGreaterThan(3)
  expect(named.length, named.join('\n')).toBeLessThanOrEqual(mostFiles)
})

test.skipIf(isProof)('a part is spread over the list', () => {
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3)).toEqual([0, 2, 4])
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3, 1)).toEqual([1, 3, 5])
  expect(partUnlessProof([0, 1], 3)).toEqual([0, 1])
})

test.skipIf(isProof)('turns share the items', () => {
  expect([0, 1, 2].map((first) => turnUnlessProof(['a', 'b', 'c', 'd'], 3, first))).toEqual([['a', 'd'], ['b'], ['c']])
  expect(turnUnlessProof(['a', 'b', 'c', 'd'], 3, 4)).toEqual(['b'])
})

test('npm run proof runs every test in whole that npm test runs in part', () => {
  const inPart = modules
    .filter((path) => path.endsWith('.test.ts') && path !== 'suites/self/sources.test.ts')
    .filter((path) => /\/proof-form\.ts|env\.SVC_PROOF/.test(shipped(path)))
  expect(inPart.length).toBeGreaterThan(10)
  const proofs = shipped('scripts/proof.ts')
  expect(inPart.filter((path) => !proofs.includes(`'${path}'`))).toEqual([])
})

const yaml = (file: string) => readYaml(shipped(file), file).value

test('every package that the lock file names has its integrity', () => {
  const { packages } = JSON.parse(shipped('package-lock.json')) as {
    packages: { [place: string]: { integrity?: string; link?: true; resolved?: string } }
  }
  const fetched = Object.entries(packages).filter(([place, { link }]) => place !== '' && link !== true)
  expect(fetched.length).toBeGreaterThan(100)
  const without = fetched.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(without.map(([place]) => place)).toEqual([])
})

describe('every workflow', () => {
  const recipes = ['github', 'github-shards'].map((name) => `.ci/recipes/${name}.yml`)
  const files = ['.github/actions/run/action.yml', '.github/workflows/check.yml', ...recipes]
  test.each(files)('%s pins the actions of others to a commit', (file) => {
    const uses = [...shipped(file).matchAll(/uses: (\S+)(.*)/g)].filter(([, action]) => !action?.startsWith('./'))
    for (const [line] of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test.each(files.slice(1))('%s begins without permissions', (file) => {
    expect((yaml(file) as { permissions: object }).permissions).toEqual({})
  })

  test('ours runs the one gate on every supported Node', () => {
    const { jobs } = yaml('.github/workflows/check.yml') as {
      jobs: { check: { strategy: { matrix: { node: string[] } }; steps: { run?: string }[] } }
    }
    expect(jobs.check.strategy.matrix.node).toEqual(['20.19', '22', '24'])
    expect(jobs.check.steps.map(({ run }) => run)).toContain('npm run check')
  })
})

const repository = mkdtempSync(join(tmpdir(), 'svc-subjects-'))
const script = join(packageRoot, '.ci/check-subjects.sh')
const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', [...who, ...args], { cwd: repository, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

function commit(subject: string): void {
  git('commit', '--quiet', '--allow-empty', '--message', `${subject}\n\n${'A long body. '.repeat(20)}`)
}

function checkSince(since: string): { status: number | null; stdout: string } {
  return spawnSync('sh', [script, since], { cwd: repository, encoding: 'utf8' })
}

test('a subject of 72 characters is accepted, one of 73 is not', () => {
  git('init', '--quiet')
  commit('a'.repeat(80))
  commit('feat: begin')
  const start = git('rev-parse', 'HEAD')
  commit(`feat: ${'x'.repeat(66)}`)
  expect(checkSince(start)).toMatchObject({ status: 0, stdout: '' })
  commit(`feat: ${'x'.repeat(67)}`)
  commit('feat: end')
  const { status, stdout } = checkSince(start)
  expect(status).toBe(1)
  expect(stdout).toContain('Shorten this subject to 72 characters, it has 73: feat: xxx')
  expect(checkSince('0'.repeat(40))).toMatchObject({ status: 0 })
})
