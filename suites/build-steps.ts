import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type RolldownOptions, rolldown } from 'rolldown'
import { isObject } from './engine/json.ts'
import type { Corpus } from './engine/language/fixture-types.ts'
import { packageRoot } from './engine/language/package-root.ts'
import { referencesIn } from './engine/language/resolve.ts'
import { ajvSettings, compiledSchemasFile } from './engine/language/schemas.ts'

interface Bundle {
  /** Modules that something outside the bundle imports: they keep their place and their exports. */
  entries: readonly string[]
  /**
   * The folder of everything else. It lies in dist/suites/ like the folder of each module that looks for a file with `import.meta.url`, so
   * that `../` leads to the same place.
   */
  folder: string
}

const bundles: readonly Bundle[] = [
  { entries: ['run/early-thread'], folder: 'worker' },
  {
    entries: ['cli', 'commands/console', 'run/ending'],
    folder: 'command-line',
  },
]

const compiled = join(packageRoot, 'dist', 'suites')

/** Modules of other packages stay in those packages. */
const isOfPackage = (id: string): boolean => !/^[./]|^[A-Za-z]:/.test(id)

async function writeBundle({ entries, folder }: Bundle): Promise<void> {
  const options: RolldownOptions = {
    input: Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)])),
    platform: 'node',
    external: isOfPackage,
  }
  const built = await rolldown(options)
  await built.write({
    dir: compiled,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${folder}/[name]-[hash].js`,
  })
  await built.close()
}

/**
 * Puts the compiled modules of the command line, and those of a worker, into few files. A run loads 300 modules, which takes a third of its
 * time if each is a file of its own. The other modules stay as they are, for programs that import the package.
 */
export async function writeBundles(): Promise<void> {
  // One after the other: the entries of the second would be read while those of the first are written.
  for (const bundle of bundles) await writeBundle(bundle)
}

import standaloneCode from 'ajv/dist/standalone/index.js'

/** Writes the schemas that the corpus names as functions; part of the build. */
export function writeCompiledSchemas(corpus: Corpus): void {
  writeFileSync(compiledSchemasFile, compiledSchemas(corpus))
}

/** Returns a CommonJS module that exports a Map: from the JSON text of each schema to its check. */
export function compiledSchemas({ schemas, scenarios }: Pick<Corpus, 'schemas' | 'scenarios'>): string {
  const texts = [
    ...new Set([...Object.values(schemas), ...schemasIn(scenarios)].map((schema) => JSON.stringify(schema))),
  ]
  const ajv = new Ajv2020({ ...ajvSettings, code: { source: true } })
  const names: { [name: string]: string } = {}
  for (const [index, text] of texts.entries()) {
    const name = `check${index}`
    // The own name of a schema says nothing here, and may come twice.
    const { $id: _, ...schema } = JSON.parse(text)
    ajv.addSchema(schema, name)
    names[name] = name
  }
  const entries = texts.map((text, index) => `[${JSON.stringify(text)}, exports.check${index}]`)
  return `${standaloneCode.default(ajv, names)}\nmodule.exports = new Map([${entries.join(', ')}])\n`
}

/** The schemas of the matcher `is` that are the same in every case. */
function schemasIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  const within = Object.values(value).flatMap(schemasIn)
  if (!('is' in value) || !isObject(value.is) || referencesIn(value.is).length > 0) return within
  return [...within, value.is]
}
