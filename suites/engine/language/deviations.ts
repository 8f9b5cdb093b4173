/** The operations and parts of fixtures/deviations.yaml. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SuiteError } from '../errors.ts'
import { bodyForms, brokenBodies } from '../signer/bodies.ts'
import { type Change, type Json, wraps } from '../signer/changed-call.ts'
import { mistakeById, mistakes } from '../signer/mistakes.ts'
import type { BytesOperation, NamedOperations, TextOperation } from '../signer/operations.ts'
import { packageRoot } from './package-root.ts'
import { readYaml } from './yaml-source.ts'

export interface Field {
  readonly field: string
  /** The kinds of authorization, or of manager calls, that have this part. */
  readonly auth: readonly string[]
  readonly operations: string
  readonly breaks: string
}

interface DeviationsFile {
  readonly text: { readonly [name: string]: TextOperation | readonly TextOperation[] }
  readonly bytes: { readonly [name: string]: BytesOperation }
  readonly values: { readonly [name: string]: Json }
  readonly fields: readonly Field[]
  readonly first: readonly string[]
  readonly sets: { readonly [name: string]: readonly string[] }
}

export interface Operations extends NamedOperations {
  readonly fields: readonly Field[]
  /** Operations that come before others. */
  readonly first: readonly string[]
  readonly textNames: readonly string[]
  readonly bytesNames: readonly string[]
  /** Every change of a part, in the order of the file. */
  changesOf(field: Field): Change[]
  /** The requirement that a change breaks, if any. */
  breaks(change: Change | undefined, auth: string): string | undefined
}

/** Read once, because the file belongs to the package. @throws SuiteError (`fixture`) where it names an operation that it does not have */
export function readDeviations(): Operations {
  packaged ??= readPackaged()
  return packaged
}

let packaged: Operations | undefined

function readPackaged(): Operations {
  const path = join(packageRoot, 'fixtures', 'deviations.yaml')
  const file = readYaml(readFileSync(path, 'utf8'), path).value as DeviationsFile
  const named = <Item>(items: { readonly [name: string]: Item }, name: string): Item => {
    const found = items[name]
    if (found === undefined) throw new SuiteError('fixture', `Unknown operation "${name}" in "${path}"`)
    return found
  }
  for (const names of Object.values(file.sets)) for (const name of names) named(file.text, name)
  return {
    fields: file.fields,
    first: file.first,
    textNames: Object.keys(file.text),
    bytesNames: Object.keys(file.bytes),
    text: (name) => named(file.text, name),
    bytes: (name) => named(file.bytes, name),
    changesOf: (field) => changesOf(file, field),
    breaks: (change, auth) => breaksOf(file, change, auth),
  }
}

function changesOf(file: DeviationsFile, { field, operations }: Field): Change[] {
  const each = (names: readonly string[]): Change[] => names.map((operation) => ({ field, operation }))
  switch (operations) {
    case 'text':
      return each(Object.keys(file.text).filter((name) => !/^(method|name|words|cut|hash)-/.test(name)))
    case 'text and cuts':
      return each(Object.keys(file.text).filter((name) => !/^(method|name|words|hash)-/.test(name)))
    case 'bytes':
      return each(Object.keys(file.bytes))
    case 'bodies':
      return each(Object.keys(bodyForms))
    case 'broken-bodies':
      return each(Object.keys(brokenBodies))
    case 'mistakes':
      return each(mistakes.filter(({ made }) => made).map(({ id }) => id))
    case 'values':
      return [
        { field, remove: true },
        ...Object.values(file.values).map((value) => ({ field, value })),
        ...wraps.map((wrap) => ({ field, wrap })),
      ]
    default:
      return each(file.sets[operations] ?? [])
  }
}

function breaksOf(file: DeviationsFile, change: Change | undefined, auth: string): string | undefined {
  if (change === undefined) return undefined
  const mistake = change.field === 'mistake' ? mistakeById(change.operation ?? '') : undefined
  const breaks = mistake?.requirement ?? file.fields.find(({ field }) => field === change.field)?.breaks
  return auth === 'ecc' ? breaks?.replace(/^signatures\/hmac(-length)?$/, 'signatures/ecc') : breaks
}
