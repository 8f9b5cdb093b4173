import { writeFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { isObject } from '../engine/json.ts'
import { ajvSettings, compiledSchemasFile } from '../engine/judge/expectation.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { referencesIn } from '../engine/language/resolve.ts'

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
