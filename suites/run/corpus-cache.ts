import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { packageRoot } from '../engine/language/package-root.ts'

const cacheFile = join(packageRoot, 'dist', 'corpus.json')

interface Cached {
  digest: string
  corpus: Corpus
}

/**
 * Returns the corpus of this package. If nothing has changed since the build, it is already parsed and linted: parsing takes half a second,
 * comparing every byte of the files a hundredth.
 *
 * @throws SuiteError (`fixture`) as loadCorpus does
 */
export async function openCorpus(): Promise<Corpus> {
  const digest = digestOfSources()
  const cached = readCache()
  if (cached?.digest === digest) return cached.corpus
  if (parsed?.digest !== digest) {
    const { loadCorpus } = await import('../engine/language/corpus.ts')
    parsed = { digest, corpus: loadCorpus(packageRoot) }
  }
  return parsed.corpus
}

/** What this process parsed because the build is older than the files: tests open the corpus often. */
let parsed: Cached | undefined

/** Parses and lints the corpus, stores it for openCorpus and returns it; part of the build. */
export async function writeCorpusCache(): Promise<Corpus> {
  const { loadCorpus } = await import('../engine/language/corpus.ts')
  const cached: Cached = { digest: digestOfSources(), corpus: loadCorpus(packageRoot) }
  writeFileSync(cacheFile, JSON.stringify(cached))
  return cached.corpus
}

function readCache(): Cached | undefined {
  try {
    return JSON.parse(readFileSync(cacheFile, 'utf8')) as Cached
  } catch {
    return undefined
  }
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  for (const folder of ['spec', 'fixtures/scenarios']) {
    for (const file of readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (/\.(yaml|json)$/.test(file)) hash.update(`${file}\n`).update(readFileSync(join(packageRoot, folder, file)))
    }
  }
  for (const file of ['test-keys.yaml', 'language.yaml']) hash.update(readFileSync(join(packageRoot, 'fixtures', file)))
  return hash.digest('hex')
}
