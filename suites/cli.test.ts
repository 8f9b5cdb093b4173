import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemAdvice } from './cli.ts'
import { readSchema } from './engine/language/schemas.ts'
import { writeKeyRecord } from './run/keys.ts'
import { parseTargetFile } from './run/target-file.ts'
import { call, captureCli, captured } from './self/captured-cli.ts'
import { madeUpReport } from './self/made-up-report.ts'
import { newFolder, openFolder } from './self/temporary.ts'

const { folder, at, write, read } = openFolder()
const aTarget = 'url: http://127.0.0.1:9\nroot: { id: i, secret: s }\n'
const testKeysIsFolder = write('test-keys-is-folder.yaml', `${aTarget}testKeys: .\n`)
const secretFile = write('secret.txt', 'not-a-secret-0001\n')
/** Runs the command line, and returns what it printed if it ended well. */
async function printed(...argv: string[]): Promise<string> {
  captured.out = ''
  expect(await call(...argv), captured.complaints).toBe(0)
  return captured.out
}
/** What it complains about, if it takes the call for wrong usage. */
async function complaint(...argv: string[]): Promise<string> {
  captured.complaints = ''
  expect(await call(...argv)).toBe(2)
  return captured.complaints
}
const signing = ['sign', '--key-id', 'k', '--secret-file', secretFile, '--body', '{}']
captureCli()

const secretInFlag =
  'give the secret in a variable or in a file, as "--help" says, because every process list shows flags'
const commandNames =
  '"run", "explore", "facts", "client", "watch", "judge", "serve", "init", "show", "keys", "list", "compare", "diff", "vectors", "sign", "verify", "diagnose", "lab"'
const wrongId =
  'it must not be empty, nor hold ";", which separates the fields of a signature, or ":", which ends the id in Basic credentials'
const serve = (...flags: string[]): string[] => ['serve', ...flags]
const withKeyId = (id: string): [string[], string] => {
  return [serve('--key-id', id), `Cannot use "${id}" for "--key-id": ${wrongId}`]
}
const mutants = (...ids: string[]): string[] => serve(...ids.flatMap((id) => ['--mutant', id]))
const belowFile = join(import.meta.filename, 'x')
const bothMacs = '"sha1-expected" and "sha1-taken-too" together: both replace the rule "mac"'
const noPublicKey = 'it is not an ED25519 public key in PEM form'
const fileAbove = 'a file stands where a folder should be'
const isFolder = 'it is a folder, name a file in it'
const fileInFolder = `it is a folder; name a file in it, such as "${at('svc-target.yaml')}"`

test.each<[argv: string[], sentence: string]>([
  [serve('--prot', '1'), 'Unknown flag "--prot", did you mean "--port"?'],
  [['run', 'basic'], 'Cannot use "basic": name the server with "--url", and cases with "--only basic"'],
  [['run', '--secret', 'x'], `Unknown flag "--secret": ${secretInFlag}`],
  [['lst'], 'Unknown command "lst", did you mean "list"?'],
  [['help', 'lst'], 'Unknown command "lst", did you mean "list"?'],
  [['help', 'nosuch'], `Unknown command "nosuch", expected one of ${commandNames}`],
  [[...signing, '--url', 'foo'], 'Cannot use the URL "foo": expected one like "https://service.example"'],
  [[...signing, '--url', 'http://x/base?x=1'], 'Remove "?x=1" from the URL: it is the part before "/api"'],
  [['compare'], 'Missing required argument "reports"'],
  [serve('extra'), 'Too many arguments for "serve": expected 0, got 1'],
  [mutants('whole-mac'), 'Unknown mutant "whole-mac", did you mean "whole-mac-expected"?'],
  [mutants('nope'), 'Unknown mutant "nope"; "svc-conformance list --mutants" shows them'],
  [serve('--public-key', 'README.md'), `Cannot use "README.md" for "--public-key": ${noPublicKey}`],
  [mutants('sha1-expected', 'whole-mac-expected', 'sha1-taken-too'), `Cannot serve ${bothMacs}`],
  [serve('--base-path', 'foo'), 'Cannot use "foo" for "--base-path": expected a path like "/service/v1"'],
  [serve('--scheme', ''), 'Cannot use "" for "--scheme": expected one word, such as "svc-hmac-sha256"'],
  [serve('--seed', ''), 'Give "--seed" a word that is not empty'],
  ...['', 'a;b', 'a:b'].map(withKeyId),
  [serve('--port'), 'Option "--port <port>" argument missing'],
  [serve('--port', '70000'), 'Cannot use "70000" for "--port": expected a whole number from 0 to 65535'],
  [serve('--set', 'batch'), 'Cannot use "batch" for "--set": expected NAME=VALUE, such as "delayMs=80"'],
  [['run', '--target', testKeysIsFolder, '--plan'], `Cannot read the record of created keys "${folder}": ${isFolder}`],
  [['compare', 'nope.json'], 'Cannot read the report "nope.json": there is no such file'],
  [['init', at('no', 'such.yaml')], `Cannot write "${at('no', 'such.yaml')}": there is no such folder`],
  [['lab', '--out', belowFile], `Cannot write the page "${belowFile}": ${fileAbove}`],
  [['explore', '--save', belowFile], `Cannot write the scenarios "${join(belowFile, 'language.yaml')}": ${fileAbove}`],
  [['init', folder], `Cannot write "${folder}": ${fileInFolder}`],
  [['init', folder, '--force'], `Cannot write "${folder}": ${fileInFolder}`],
])('wrong usage is one sentence and exit code 2: %j', async (argv, sentence) => {
  expect(await complaint(...argv)).toBe(`${sentence}\n`)
  expect(captured.out).toBe('')
})

test.each([
  [['help', 'list'], /Usage: svc-conformance list/],
  [['help'], /Usage: svc-conformance/],
  [['--help'], /Usage: svc-conformance/],
  [['--version'], /^\d+\.\d+\.\d+/],
  [['version'], /^\d+\.\d+\.\d+/],
])('%j is no mistake', async (argv, text) => {
  expect(await printed(...argv)).toMatch(text)
  expect(captured.complaints).toBe('')
})

describe('init', () => {
  test('writes a target file that can be read, and does not overwrite one', async () => {
    const file = at('target.yaml')
    await printed('init', file, '--url', 'http://127.0.0.1:9111/base/')
    expect(parseTargetFile(read('target.yaml'), file)).toEqual({ url: 'http://127.0.0.1:9111/base' })
    expect(await complaint('init', file)).toContain('it exists; name another file, or overwrite it with "--force"')
    await printed('init', file, '--force', '--url', 'https://other.example')
    expect(read('target.yaml')).toContain('url: https://other.example')
  })

  test('every line that is commented out can be used', async () => {
    const file = at('uncommented.yaml')
    await printed('init', file)
    const { properties } = readSchema('target') as { properties: { probes: { propertyNames: { enum: string[] } } } }
    const known = Object.keys(properties)
    const areas = properties.probes.propertyNames.enum
    const commented = new RegExp(`^# (?=(?:${known.join('|')}|  (?:${areas.join('|')})):)`, 'gm')
    const text = read('uncommented.yaml')
      .replace(/^# root: .*privateKeyFile.*$/m, '')
      .replace(commented, '')
    const target = parseTargetFile(text.replace(/^root: .*privateKeyFile.*$/m, ''), file)
    expect(Object.keys(target).sort()).toEqual(known.sort())
    expect(Object.keys(target.probes ?? {}).sort()).toEqual(areas.sort())
  })
})

describe('list', () => {
  test('--json names scenarios, cases and requirements', async () => {
    const { scenarios, requirements, questions } = JSON.parse(await printed('list', '--json'))
    expect(scenarios.length * requirements.length * questions.length).toBeGreaterThan(0)
    expect(requirements[0]).toMatchObject({ id: 'envelope/post-api', level: 'must' })
  })

  test('is filtered by an id prefix or a requirement', async () => {
    const { scenarios, requirements } = JSON.parse(await printed('list', 'basic', '--json'))
    for (const { id } of [...scenarios, ...requirements]) expect(id).toMatch(/^basic\//)
  })

  test.each([
    [[], /\d+ scenarios with \d+ cases \(\d+ in a run, .*\); \d+ requirements \(\d+ musts\), \d+ open questions\n$/],
    [['limits', '--requirements'], /limits\/ten-keys {2}must {2}.+ \(\d+ cases, \d+ mutants\)\n/],
    [['--requirements', 'basic'], /^basic\/[\w-]+ {2}must {2}/],
    [['--mutants', 'signatures'], /whole-mac-expected +signatures\/hmac\n/],
  ])('%j for people', async (argv, text) => {
    expect(await printed('list', ...argv)).toMatch(text)
  })

  test.each([
    [['--mutants', '--matrix'], 'Give one of "--mutants" and "--matrix"\n'],
    [['basik'], 'Nothing is named "basik", did you mean "basic"?\n'],
  ])('%j is a mistake', async (argv, sentence) => {
    expect(await complaint('list', ...argv)).toBe(sentence)
  })
})

describe('show', () => {
  const partOfTable = [
    'a call with Basic credentials and changes one part of it: basic-secret',
    'basic/credentials: Authorization: Basic',
    ' changes (fixtures/deviations.yaml):\n    ',
  ]
  const ofNewPair = 'a finding of the model about refresh/new-pair\n  refresh/new-pair: The'
  const letIn = 'The target accepted a call that must be refused'
  test.each([
    ['signatures/hmac', ['must, part 5.1', '    whole-mac-expected\n', '  open questions about signatures:']],
    ['basic/secret-of-another', ['fixtures/scenarios/basic/secret-of-another.yaml', '  proves:\n']],
    ['envelope/batch', ['open question, part 1', '  observed by:\n']],
    ['whole-mac-expected', ['a server that breaks signatures/hmac', 'serve --mutant whole-mac-expected']],
    ['test-keys/bob', ['the creation of a test key']],
    ['table/basic', ['\n  table/basic/basic-secret\n']],
    ['table/basic/basic-secret', [...partOfTable, 'first-half']],
    ['matrix/1', [/^matrix\/1: one combination.*\n {4}address +\S+\n(?: {4}.+\n)* {4}way +\S/]],
    ['found/refresh/new-pair/let-in-twice', [ofNewPair, letIn]],
    ['refresh', ['refresh/new-pair  A refresh returns a pair']],
  ])('%s', async (id, parts) => {
    const text = await printed('show', id)
    for (const part of parts) expect(text).toMatch(part)
  })

  test.each([
    ['signatures/hmak', ', did you mean "signatures/hmac"?\n'],
    ['table/nope', '; "svc-conformance show table" lists the parts'],
    ['matrix/99999', '; "svc-conformance show matrix" says how many rows there are'],
    ['matrix/0', '; "svc-conformance show matrix"'],
    ['found/nope/x', '; the id of a finding is found/REQUIREMENT/FACT'],
  ])('%s is unknown', async (id, advice) => {
    expect(await complaint('show', id)).toContain(`Nothing is named "${id}"${advice}`)
  })
})

describe('keys', () => {
  const owner = { url: 'http://127.0.0.1:9', rootId: 'root' }
  const state = newFolder()
  const file = join(state, 'svc-conformance', 'a.keys.jsonl')

  beforeEach(() => vi.stubEnv('XDG_STATE_HOME', state))
  afterEach(() => void vi.unstubAllEnvs())

  test('lists what past runs left, without control characters and secrets', async () => {
    const keys = [{ id: 'id-1', name: 'a\u001b[31m', secret: 'not-a-secret-0002', member: 'bob' }]
    writeKeyRecord(file, { owner, keys, unanswered: ['lost'] })
    const listed = '  API key id-1 ("a\\u001b[31m"), the test key of "bob"\n  perhaps an API key "lost"'
    expect(await printed('keys', '--url', 'http://127.0.0.1:9')).toContain(listed)
    expect(await printed('keys', '--json')).not.toContain('not-a-secret-0002')
    expect(await printed('keys', '--url', 'http://127.0.0.1:10')).toBe(
      'No API key of an earlier run is recorded here; a run with --disposable that has ended leaves no record\n',
    )
  })

  test('--forget deletes the records, and says which keys are forgotten and still there', async () => {
    writeKeyRecord(file, { owner, keys: [{ id: 'id-1', name: 'n' }], unanswered: [] })
    const said = await printed('keys', '--forget')
    expect(said).toMatch(/^Forgotten; nothing was removed from the target:\n.*\n {2}API key id-1 \("n"\)\n/)
    expect(existsSync(file)).toBe(false)
    expect(await printed('keys', '--forget')).toMatch(/^No API key of an earlier run is recorded here/)
  })
})

describe('compare', () => {
  const report = write('report.json', JSON.stringify(madeUpReport()))

  test('lays reports side by side', async () => {
    const text = await printed('compare', report, report)
    expect(text).toMatch(/A {2}.+, http:\/\/127.0.0.1:9111: does not conform/)
    expect(text).toMatch(/signatures\/hmac +must +✗ +✗/)
    expect(await printed('compare', '--markdown', report)).toContain('| signatures/hmac | must | ✗ |')
  })

  test('names a file that is not a report', async () => {
    const other = write('other.json', '{"verdict":"conforms"}')
    expect(await complaint('compare', other)).toContain(
      `Cannot use "${other}": expected a JSON report (run --report json=FILE): missing key "meta"`,
    )
    expect(await complaint('compare', write('other.json', 'hello'))).toContain('it is not JSON')
  })

  test.each([
    [['compare', report, '--html', at('page.html'), '--markdown'], 'Choose one of "--html" and "--markdown"\n'],
    [['compare', report, '--strict'], '"--strict" goes with "--merge"\n'],
    [['diff', report], 'Name two reports to compare, or two servers with "--url A --url B"\n'],
  ])('%j is a mistake', async (argv, sentence) => {
    expect(await complaint(...argv)).toBe(sentence)
  })

  test('diff shows which verdicts differ, and exits with 1', async () => {
    const made = madeUpReport()
    const cases = made.cases.map((one) => ({ ...one, verdict: 'passed' as const }))
    const changed = write('changed.json', JSON.stringify({ ...made, cases }))
    expect(await printed('diff', report, report)).toContain('No verdict differs')
    captured.out = ''
    expect(await call('diff', report, changed)).toBe(1)
    captured.out = ''
    await call('diff', report, changed, '--json')
    const warned = { key: 'keys/warned', one: 'warned', other: 'passed' }
    expect(JSON.parse(captured.out).cases).toContainEqual(warned)
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
