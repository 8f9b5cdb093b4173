import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemAdvice } from './cli.ts'
import { readSchema } from './engine/language/schemas.ts'
import { writeKeyRecord } from './run/keys.ts'
import { parseTargetFile } from './run/target-file.ts'
import { call, captureCli, captured } from './self/captured-cli.ts'
import { madeUpReport } from './self/made-up-report.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'))
const testKeysIsFolder = join(folder, 'test-keys-is-folder.yaml')
writeFileSync(testKeysIsFolder, 'url: http://127.0.0.1:9\nroot: { id: i, secret: s }\ntestKeys: .\n')
const secretFile = join(folder, 'secret.txt')
writeFileSync(secretFile, 'not-a-secret-0001\n')
const signing = ['sign', '--key-id', 'k', '--secret-file', secretFile, '--body', '{}']
captureCli()

describe('wrong usage: one sentence and exit code 2', () => {
  test.each([
    [['serve', '--prot', '1'], 'Unknown flag "--prot", did you mean "--port"?\n'],
    [['run', 'basic'], 'Cannot use "basic": name the server with "--url", and cases with "--only basic"\n'],
    [
      ['run', '--secret', 'x'],
      'Unknown flag "--secret": give the secret in a variable or in a file, as "--help" says, because every process list shows flags\n',
    ],
    [['lst'], 'Unknown command "lst", did you mean "list"?\n'],
    [['help', 'lst'], 'Unknown command "lst", did you mean "list"?\n'],
    [
      ['help', 'nosuch'],
      'Unknown command "nosuch", expected one of "run", "explore", "facts", "client", "watch", "judge", "serve", "init", "show", "keys", "list", "compare", "diff", "vectors", "sign", "verify", "diagnose", "lab"\n',
    ],
    [[...signing, '--url', 'foo'], 'Cannot use the URL "foo": expected one like "https://service.example"\n'],
    [[...signing, '--url', 'http://x/base?x=1'], 'Remove "?x=1" from the URL: it is the part before "/api"\n'],
    [['compare'], 'Missing required argument "reports"\n'],
    [['serve', 'extra'], 'Too many arguments for "serve": expected 0, got 1\n'],
    [['serve', '--mutant', 'whole-mac'], 'Unknown mutant "whole-mac", did you mean "whole-mac-expected"?\n'],
    [['serve', '--mutant', 'nope'], 'Unknown mutant "nope"; "svc-conformance list --mutants" shows them\n'],
    [
      ['serve', '--public-key', 'README.md'],
      'Cannot use "README.md" for "--public-key": it is not an ED25519 public key in PEM form\n',
    ],
    [
      ['serve', '--mutant', 'sha1-expected', '--mutant', 'whole-mac-expected', '--mutant', 'sha1-taken-too'],
      'Cannot serve "sha1-expected" and "sha1-taken-too" together: both replace the rule "mac"\n',
    ],
    [['serve', '--base-path', 'foo'], 'Cannot use "foo" for "--base-path": expected a path like "/service/v1"\n'],
    [['serve', '--scheme', ''], 'Cannot use "" for "--scheme": expected one word, such as "svc-hmac-sha256"\n'],
    [['serve', '--seed', ''], 'Give "--seed" a word that is not empty\n'],
    ...['', 'a;b', 'a:b'].map((id): [string[], string] => [
      ['serve', '--key-id', id],
      `Cannot use "${id}" for "--key-id": it must not be empty, nor hold ";", which separates the fields of a signature, or ":", which ends the id in Basic credentials\n`,
    ]),
    [['serve', '--port'], 'Option "--port <port>" argument missing\n'],
    [['serve', '--port', '70000'], 'Cannot use "70000" for "--port": expected a whole number from 0 to 65535\n'],
    [['serve', '--set', 'batch'], 'Cannot use "batch" for "--set": expected NAME=VALUE, such as "delayMs=80"\n'],
    [['run', '--known', folder], `Cannot read the baseline "${folder}": it is a folder, name a file in it\n`],
    [
      ['run', '--known', folder, '--update-known'],
      `Cannot read the baseline "${folder}": it is a folder, name a file in it\n`,
    ],
    [
      ['run', '--target', testKeysIsFolder, '--plan'],
      `Cannot read the record of created keys "${folder}": it is a folder, name a file in it\n`,
    ],
    [['compare', 'nope.json'], 'Cannot read the report "nope.json": there is no such file\n'],
    [
      ['init', join(folder, 'no', 'such.yaml')],
      `Cannot write "${join(folder, 'no', 'such.yaml')}": there is no such folder\n`,
    ],
    ...(process.platform === 'linux' ? ['/proc/no/such.html'] : []).map((file): [string[], string] => [
      ['lab', '--out', file],
      `Cannot write the page "${file}": there is no such folder\n`,
    ]),
    [
      ['explore', '--save', join(import.meta.filename, 'x')],
      `Cannot write the scenarios "${join(import.meta.filename, 'x', 'language.yaml')}": a file stands where a folder should be\n`,
    ],
    ...[[], ['--force']].map((force): [string[], string] => [
      ['init', folder, ...force],
      `Cannot write "${folder}": it is a folder; name a file in it, such as "${join(folder, 'svc-target.yaml')}"\n`,
    ]),
  ])('%j', async (argv, sentence) => {
    expect(await call(...argv)).toBe(2)
    expect(captured.complaints).toBe(sentence)
    expect(captured.out).toBe('')
  })
})

test('sign: the curl line calls below the base URL', async () => {
  expect(await call(...signing, '--url', 'http://h/base/'), captured.complaints).toBe(0)
  expect(captured.out).toContain(`curl -sS -X POST 'http://h/base/api' -H`)
})

test('help explains a command', async () => {
  expect(await call('help', 'list')).toBe(0)
  expect(captured.out).toContain('Usage: svc-conformance list')
  expect(await call('help')).toBe(0)
  expect(captured.complaints).toBe('')
})

test('--help and --version are no mistakes', async () => {
  expect(await call('--version')).toBe(0)
  expect(captured.out).toMatch(/^\d+\.\d+\.\d+/)
  expect(await call('version')).toBe(0)
  expect(await call('--help')).toBe(0)
  expect(captured.complaints).toBe('')
})

describe('init', () => {
  test('writes a target file that can be read, and does not overwrite one', async () => {
    const file = join(folder, 'target.yaml')
    expect(await call('init', file, '--url', 'http://127.0.0.1:9111/base/')).toBe(0)
    const text = readFileSync(file, 'utf8')
    expect(parseTargetFile(text, file)).toEqual({ url: 'http://127.0.0.1:9111/base' })
    expect(await call('init', file)).toBe(2)
    expect(captured.complaints).toContain('it exists; name another file, or overwrite it with "--force"')
    expect(await call('init', file, '--force', '--url', 'https://other.example')).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('url: https://other.example')
  })

  test('every line that is commented captured.out can be used', async () => {
    const file = join(folder, 'uncommented.yaml')
    await call('init', file)
    const { properties } = readSchema('target') as { properties: { probes: { propertyNames: { enum: string[] } } } }
    const known = Object.keys(properties)
    const areas = properties.probes.propertyNames.enum
    const commented = new RegExp(`^# (?=(?:${known.join('|')}|  (?:${areas.join('|')})):)`, 'gm')
    const text = readFileSync(file, 'utf8')
      .replace(/^# root: .*privateKeyFile.*$/m, '')
      .replace(commented, '')
    const target = parseTargetFile(text.replace(/^root: .*privateKeyFile.*$/m, ''), file)
    expect(Object.keys(target).sort()).toEqual(known.sort())
    expect(Object.keys(target.probes ?? {}).sort()).toEqual(areas.sort())
  })
})

describe('list', () => {
  test('--json names scenarios, cases and requirements', async () => {
    expect(await call('list', '--json')).toBe(0)
    const { scenarios, requirements, questions } = JSON.parse(captured.out)
    expect(scenarios.length * requirements.length * questions.length).toBeGreaterThan(0)
    expect(requirements[0]).toMatchObject({ id: 'envelope/post-api', level: 'must' })
  })

  test('for people it ends with the numbers', async () => {
    expect(await call('list'), captured.complaints).toBe(0)
    expect(captured.out).toMatch(
      /\d+ scenarios with \d+ cases \(\d+ in a run, .*\); \d+ requirements \(\d+ musts\), \d+ open questions\n$/,
    )
  })

  test('is filtered by an id prefix or a requirement', async () => {
    expect(await call('list', 'basic', '--json')).toBe(0)
    const { scenarios, requirements } = JSON.parse(captured.out)
    expect(scenarios.every(({ id }: { id: string }) => id.startsWith('basic/'))).toBe(true)
    expect(requirements.every(({ id }: { id: string }) => id.startsWith('basic/'))).toBe(true)
    captured.out = ''
    expect(await call('list', 'limits', '--requirements')).toBe(0)
    expect(captured.out).toMatch(/limits\/ten-keys {2}must {2}.+ \(\d+ cases, \d+ mutants\)\n/)
  })

  test('--mutants and --requirements', async () => {
    expect(await call('list', '--mutants', 'signatures')).toBe(0)
    expect(captured.out).toMatch(/whole-mac-expected +signatures\/hmac\n/)
    captured.out = ''
    expect(await call('list', '--requirements', 'basic')).toBe(0)
    expect(captured.out).toMatch(/^basic\/[\w-]+ {2}must {2}/)
    expect(await call('list', '--mutants', '--matrix')).toBe(2)
    expect(captured.complaints).toBe('Give one of "--mutants" and "--matrix"\n')
  })

  test('an unknown id is a mistake', async () => {
    expect(await call('list', 'basik')).toBe(2)
    expect(captured.complaints).toBe('Nothing is named "basik", did you mean "basic"?\n')
  })
})

describe('show', () => {
  test.each([
    ['signatures/hmac', ['must, part 5.1', '    whole-mac-expected\n', '  open questions about signatures:']],
    ['basic/secret-of-another', ['fixtures/scenarios/basic/secret-of-another.yaml', '  proves:\n']],
    ['envelope/batch', ['open question, part 1', '  observed by:\n']],
    ['whole-mac-expected', ['a server that breaks signatures/hmac', 'serve --mutant whole-mac-expected']],
    ['test-keys/bob', ['the creation of a test key']],
    ['table/basic', ['\n  table/basic/basic-secret\n']],
    [
      'table/basic/basic-secret',
      [
        'a call with Basic credentials and changes one part of it: basic-secret',
        'basic/credentials: Authorization: Basic',
        ' changes (fixtures/deviations.yaml):\n    ',
        'first-half',
      ],
    ],
    ['matrix/1', [/^matrix\/1: one combination.*\n {4}address +\S+\n(?: {4}.+\n)* {4}way +\S/]],
    [
      'found/refresh/new-pair/let-in-twice',
      [
        'a finding of the model about refresh/new-pair\n  refresh/new-pair: The grant',
        'The target accepted a call that must be refused',
      ],
    ],
    ['refresh', ['refresh/new-pair  A refresh returns a pair']],
  ])('%s', async (id, parts) => {
    expect(await call('show', id), captured.complaints).toBe(0)
    for (const part of parts) expect(captured.out).toMatch(part)
  })

  test.each([
    ['signatures/hmak', ', did you mean "signatures/hmac"?\n'],
    ['table/nope', '; "svc-conformance show table" lists the parts'],
    ['matrix/99999', '; "svc-conformance show matrix" says how many rows there are'],
    ['matrix/0', '; "svc-conformance show matrix"'],
    ['found/nope/x', '; the id of a finding is found/REQUIREMENT/FACT'],
  ])('%s is unknown', async (id, advice) => {
    expect(await call('show', id)).toBe(2)
    expect(captured.complaints).toContain(`Nothing is named "${id}"${advice}`)
  })
})

describe('keys', () => {
  const owner = { url: 'http://127.0.0.1:9', rootId: 'root' }
  const state = mkdtempSync(join(tmpdir(), 'svc-cli-state-'))
  const file = join(state, 'svc-conformance', 'a.keys.jsonl')

  beforeEach(() => vi.stubEnv('XDG_STATE_HOME', state))
  afterEach(() => void vi.unstubAllEnvs())

  test('lists what past runs left, without control characters and secrets', async () => {
    const keys = [{ id: 'id-1', name: 'a\u001b[31m', secret: 'not-a-secret-0002', member: 'bob' }]
    writeKeyRecord(file, { owner, keys, unanswered: ['lost'] })
    expect(await call('keys', '--url', 'http://127.0.0.1:9')).toBe(0)
    expect(captured.out).toContain(
      '  API key id-1 ("a\\u001b[31m"), the test key of "bob"\n  perhaps an API key "lost"',
    )
    expect(await call('keys', '--json')).toBe(0)
    expect(captured.out).not.toContain('not-a-secret-0002')
    captured.out = ''
    expect(await call('keys', '--url', 'http://127.0.0.1:10')).toBe(0)
    expect(captured.out).toBe(
      'No API key of an earlier run is recorded here; a run with --disposable that has ended leaves no record\n',
    )
  })

  test('--forget removes the records', async () => {
    writeKeyRecord(file, { owner, keys: [{ id: 'id-1', name: 'n' }], unanswered: [] })
    expect(await call('keys', '--forget')).toBe(0)
    expect(existsSync(file)).toBe(false)
  })
})

describe('compare', () => {
  const report = join(folder, 'report.json')
  writeFileSync(report, JSON.stringify(madeUpReport()))

  test('lays reports side by side', async () => {
    expect(await call('compare', report, report)).toBe(0)
    expect(captured.out).toMatch(/A {2}.+, http:\/\/127.0.0.1:9111: does not conform/)
    expect(captured.out).toMatch(/signatures\/hmac +must +✗ +✗/)
    await call('compare', '--markdown', report)
    expect(captured.out).toContain('| signatures/hmac | must | ✗ |')
  })

  test('names a file that is not a report', async () => {
    const other = join(folder, 'other.json')
    writeFileSync(other, '{"verdict":"conforms"}')
    expect(await call('compare', other)).toBe(2)
    expect(captured.complaints).toContain(
      `Cannot use "${other}": expected a JSON report (run --report json=FILE): missing key "meta"`,
    )
    writeFileSync(other, 'hello')
    await call('compare', other)
    expect(captured.complaints).toContain('it is not JSON')
  })

  test('writes one page of all servers', async () => {
    const page = join(folder, 'page.html')
    expect(await call('compare', report, report, '--html', page)).toBe(0)
    expect(readFileSync(page, 'utf8')).toContain('"name":"http://127.0.0.1:9111"')
    expect(await call('compare', report, '--html', page, '--markdown')).toBe(2)
    expect(captured.complaints).toBe('Choose one of "--html" and "--markdown"\n')
  })

  test('diff shows which verdicts differ, and exits with 1', async () => {
    const changed = join(folder, 'changed.json')
    const made = madeUpReport()
    const cases = made.cases.map((one) => ({ ...one, verdict: 'passed' as const }))
    writeFileSync(changed, JSON.stringify({ ...made, cases }))
    expect(await call('diff', report, report)).toBe(0)
    expect(captured.out).toContain('No verdict differs')
    expect(await call('diff', report, changed)).toBe(1)
    expect(captured.out).toMatch(/keys\/warned +! warned → ✓ passed/)
    await call('diff', report, changed, '--json')
    expect(JSON.parse(captured.out.slice(captured.out.indexOf('{'))).cases).toContainEqual({
      key: 'keys/warned',
      one: 'warned',
      other: 'passed',
    })
    expect(await call('diff', report)).toBe(2)
    expect(captured.complaints).toBe('Name two reports to compare, or two servers with "--url A --url B"\n')
  })

  test('flags of a merge go with a merge', async () => {
    expect(await call('compare', report, '--strict')).toBe(2)
    expect(captured.complaints).toBe('"--strict" goes with "--merge"\n')
  })
})

describe('an error of the system', () => {
  const errorOf = (code: string, syscall: string) => Object.assign(new Error(`${code}: …`), { code, syscall })

  test.each([
    ['EMFILE', 'open', 'Raise the limit of open files'],
    ['ENOSPC', 'write', 'Free some space'],
    ['EACCES', 'mkdtemp', 'Set TMPDIR'],
    ['ENOENT', 'mkdtemp', 'Set TMPDIR'],
    ['EROFS', 'open', 'read-only'],
    ['ENOENT', 'uv_cwd', 'Change to another folder'],
  ])('%s of %s has advice', (code, syscall, advice) => {
    expect(systemAdvice(errorOf(code, syscall))).toContain(advice)
  })

  test('any other error may be a defect', () => {
    expect(systemAdvice(new TypeError('x is not a function'))).toBeNull()
    expect(systemAdvice(errorOf('ENOENT', 'open'))).toBeNull()
    expect(systemAdvice(null)).toBeNull()
  })
})
