/**
 * The runner in Python shares nothing with the suite but the fixtures and their description. On the reference server and on broken ones
 * it must reach the verdict of the suite for each case.
 */
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { brokenServers } from '../servers/table.ts'
import { bundledSettings, bundledTarget } from '../targets/bundled.ts'
import { builtBin } from './printed-by.ts'
import { isProof, partUnlessProof } from './proof-form.ts'
import { shipped } from './sources.ts'

/** A proof compares every case on all of the servers, which takes a minute; else a sample of the cases on one that breaks some of them. */
const sample = ['basic', 'tokens']
const servers = [
  'reference',
  'hash-of-the-data-verified',
  'listing-open-to-all',
  'access-through-a-removed-session',
  'basic-never-taken',
  'context-scope-grants-the-scope-of-the-key',
  'created-key-with-a-number-as-id',
  'hmac-creates-no-keys',
  'initial-key-without-some-areas',
  'no-access-token',
  'refresh-token-null',
]

const folder = join(packageRoot, 'fixtures', 'runners', 'python')
const isThere = spawnSync('python3', ['-c', 'import cryptography, yaml']).status === 0
const missing = isThere ? '' : ' (NOT RUN: needs python3 with "cryptography" and "PyYAML")'
const corpus = await openCorpus()
const mutants = await brokenServers('own')

interface Judged {
  verdicts: { [key: string]: string }
  /** Cases that were skipped, by the word that the runner does not know. */
  unsupported: { [word: string]: string[] }
}

describe(`the runner in Python${missing}`, () => {
  test.skipIf(!isThere).concurrent.each(partUnlessProof(servers, 1, 1))(
    'reaches the verdicts of the suite: %s',
    async (server) => {
      const { verdicts, unsupported } = await judgeInPython(server)
      const skipped = new Set(Object.values(unsupported).flat())
      const ours = await judgeHere(server)
      expect(verdicts).toEqual(Object.fromEntries(ours.filter(([key]) => !skipped.has(key))))
      expect(Object.keys(verdicts).length).toBeGreaterThan(isProof ? 650 : 60)
    },
  )

  test.skipIf(!isThere)('applies every word as the suite does', () => {
    const { stdout, stderr } = spawnSync('python3', ['-B', join(folder, 'check_words.py')], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const words = ['prehashed', 'small-order-r'].map((word) => `not supported: signature: ${word}\n`)
    expect(stdout).toBe(words.join(''))
  })

  test('judges the reference server as the suite does', () => {
    const file = 'fixtures/runners/python/reference-target.yaml'
    const { probes, cleanup, secondAddress, clientAddress } = bundledSettings([])
    expect(readYaml(shipped(file), file).value).toEqual({ probes, cleanup, secondAddress, clientAddress })
  })
})

async function judgeInPython(server: string): Promise<Judged> {
  const serve = [process.execPath, builtBin, 'serve', '--control', '--virtual-clock']
  const broken = server === 'reference' ? [] : ['--mutant', server]
  const only = isProof ? [] : sample.flatMap((area) => ['--only', area])
  const flags = ['-B', join(folder, 'run.py'), '--json', ...only, '--', ...serve, ...broken]
  const { stdout } = await promisify(execFile)('python3', flags, { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout) as Judged
}

async function judgeHere(server: string): Promise<[key: string, verdict: string][]> {
  const rules = mutants.find(({ id }) => id === server)?.create().rules
  expect(server === 'reference' || rules !== undefined, `${server} is a mutant`).toBe(true)
  const items = allItems(corpus).filter(({ key }) => isProof || sample.some((area) => key.startsWith(area)))
  const outcomes = await runAll({ target: bundledTarget(rules === undefined ? {} : { rules }), corpus, items })
  return outcomes.map(({ key, verdict }) => [key, verdict])
}
