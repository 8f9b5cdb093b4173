import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import { packageRoot } from '../language/package-root.ts'

/** The JSON text of each schema of the corpus, with its check. `npm run build` writes it, because compiling them takes longer than all comparisons. */
export const compiledSchemasFile = join(packageRoot, 'dist', 'compiled-schemas.cjs')

/** The schema of fixtures checks the schemas in them, a test those of spec/. */
export const ajvSettings = { strict: false, allErrors: false, meta: false, validateSchema: false } as const

const require = createRequire(import.meta.url)
const compiled = new Map<string, ValidateFunction>()
let built: ReadonlyMap<string, ValidateFunction> | undefined
let ajv: Ajv2020 | undefined

/** Returns the function that tells whether a value fits a schema. One that the build did not meet is compiled when it is needed. */
export function schemaCheck(schema: object): ValidateFunction {
  const text = JSON.stringify(schema)
  built ??= readBuilt()
  const known = built.get(text) ?? compiled.get(text)
  if (known !== undefined) return known
  const check = compile(schema)
  compiled.set(text, check)
  return check
}

/** Loads ajv first: a run of the corpus as it was built needs none of it. */
function compile(schema: object): ValidateFunction {
  const loaded: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js')
  ajv ??= new loaded.Ajv2020(ajvSettings)
  return ajv.compile(schema)
}

/** Nothing where no build has been made: the tests run the sources. */
function readBuilt(): ReadonlyMap<string, ValidateFunction> {
  try {
    return require(compiledSchemasFile)
  } catch {
    return new Map()
  }
}
