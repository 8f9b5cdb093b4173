import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { shipped } from './shipped.ts'

interface Line {
  /** Path from the package root. */
  file: string
  /** The path from the package root for a relative import, otherwise the module as written. */
  imported: string
}

const modules = ['mock-server', 'suites', 'spec', 'fixtures'].flatMap((folder) =>
  readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => /\.(ts|mts|js|mjs)$/.test(file) && !file.startsWith('suites/self/foreign/')),
)

const lines: Line[] = modules.flatMap((file) =>
  Array.from(
    shipped(file).matchAll(
      /(?:^(?:import|export)\b[^'\n]*\bfrom\s+|^\} from\s+|^import\s+|\bimport\(\s*|\brequire\(\s*)'([^']+)'/gm,
    ),
    ([, imported = '']) => ({ file, imported: imported.startsWith('.') ? join(dirname(file), imported) : imported }),
  ),
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

test('imports are read at all', () => {
  expect(lines.length).toBeGreaterThan(500)
  expect(lines).toContainEqual({ file: 'suites/targets/bundled.ts', imported: 'mock-server/index.ts' })
  expect(lines).toContainEqual({ file: 'suites/targets/bundled.ts', imported: 'suites/servers/table.ts' })
})

describe('two witnesses that share no code', () => {
  test('suites/ meets mock-server/ in one file, and where servers are broken', () => {
    const inMock = ({ imported }: Line): boolean => imported.startsWith('mock-server/')
    const itself = (file: string): boolean =>
      /^(mock-server|suites\/servers)\/|^suites\/targets\/bundled\.ts$/.test(file)
    expect(strays(inMock, itself)).toEqual([])
  })

  test('mock-server/ never imports suites/', () => {
    const inSuites = ({ imported }: Line): boolean => imported.startsWith('suites/')
    expect(strays(inSuites, (file) => file.startsWith('suites/'))).toEqual([])
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
    ['supertest', /^suites\/targets\//],
    ['yaml', /^suites\/engine\/language\/|\.test\.ts$/],
    ['ajv', /^suites\/engine\/(language|judge)\/|^suites\/build-steps|\.test\.ts$/],
    ['@noble', /^suites\/engine\/signer\//],
    ['fast-check', /^suites\/explore\/|\.test\.ts$/],
    ['commander', /^suites\/(cli\.ts$|commands\/)/],
    ['rolldown', /^suites\/(page\/build-page|build-steps)\.ts$/],
    [
      'vitest',
      /^suites\/(run\/[\w-]+|vitest\.config|self\/(\w+-reporter|captured-cli))\.ts$|\.(test|suite)\.ts$|^mock-server\/test-[\w-]+\.ts$/,
    ],
  ]
  test.each(homes)('%s', (name, home) => {
    expect(lines.filter(ofPackage(name))).not.toEqual([])
    expect(strays(ofPackage(name), (file) => home.test(file))).toEqual([])
  })

  test('shipped code imports no other package', () => {
    const shippedCode = (file: string): boolean =>
      !isTest(file) && !/^suites\/(scripts|self)\/|^suites\/vitest\.config\.ts$/.test(file)
    const others = lines.filter(
      ({ file, imported }) =>
        shippedCode(file) &&
        !/^(mock-server|suites|fixtures)\//.test(imported) &&
        !imported.startsWith('node:') &&
        !homes.some(([name]) => ofPackage(name)({ file, imported })),
    )
    expect(others).toEqual([])
  })
})

describe('the engine', () => {
  const engine = modules.filter((file) => file.startsWith('suites/engine/') && !isTest(file))

  test('opens no socket and starts no process', () => {
    const edges = /^node:(http|https|http2|net|tls|dgram|child_process|worker_threads)$/
    expect(
      strays(
        ({ file, imported }) => engine.includes(file) && edges.test(imported),
        () => false,
      ),
    ).toEqual([])
  })

  test('reads no clock and no randomness except its parameters', () => {
    const reading = /\bDate\.now\(|new Date\(\)|\bsetTimeout\(|\bMath\.random\(/
    expect(engine.filter((file) => reading.test(shipped(file)))).toEqual([])
  })
})
