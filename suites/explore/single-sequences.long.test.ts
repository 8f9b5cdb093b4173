import { expect, test } from 'vitest'
import { readDeviations } from '../engine/language/deviations.ts'
import { partUnlessProof } from '../self/proof-form.ts'
import { loadIndependentMutants, type ServerOptions } from '../targets/bundled.ts'
import { keyLimit } from './key-limit.ts'
import { lifetimes } from './lifetimes.ts'
import { keyPairMaker } from './open.ts'
import { scopeLimits } from './scope-chains.ts'
import { type Caller, callCell, cells } from './table.ts'
import { brokenBy } from './test-findings.ts'
import { bodiesInChunks } from './written-bodies.ts'
import { wrongCreations, wrongGrantsWithHeader } from './wrong-credentials.ts'

const mutants = await loadIndependentMutants()
const broken = (id: string): Omit<ServerOptions, 'clock'> => {
  const mutant = mutants.find((one) => one.id === id)
  if (mutant === undefined) throw new Error(`There is no mutant "${id}"`)
  return mutant.create()
}

/** The cells of one field, as the table has them. */
const cellsOf =
  (id: string) =>
  async (caller: Caller): Promise<void> => {
    for (const cell of cells(readDeviations(), caller.x.options.values))
      if (cell.id === id) await callCell(caller, cell)
  }

const sequences: { [name: string]: (caller: Caller) => Promise<void> } = {
  grants: (caller) => wrongGrantsWithHeader(caller, 2),
  creations: (caller) => {
    caller.x.setSignatureClock(0, true)
    caller.x.names.set('spare', { publicKey: keyPairMaker(caller.x.options.values)().publicKeyPem })
    return wrongCreations(caller, 2)
  },
  chunks: (caller) => {
    caller.x.setSignatureClock(0, true)
    return bodiesInChunks(caller, 2)
  },
  limit: keyLimit,
  scopes: (caller) => scopeLimits(caller, 'root', true),
  lifetimes: (caller) => lifetimes(caller, 'root'),
  'names of params': cellsOf('table/grant/name-of-apiKeyId'),
  'names of members': cellsOf('table/basic/name-of-method'),
  tokens: cellsOf('table/token/token'),
  'mistakes in signed data': (caller) => {
    caller.x.setSignatureClock(0, true)
    return cellsOf('table/hmac/mistake-data')(caller)
  },
}

test.each(Object.keys(sequences))('%s: the reference server breaks nothing', async (name) => {
  expect(await brokenBy({}, sequences[name] as (caller: Caller) => Promise<void>)).toEqual([])
})

const showing: readonly (readonly [string, string, string])[] = [
  ['grant-takes-authorization-header-for-secret', 'grants', 'grants/credentials'],
  ['creation-with-public-key-needs-no-secret-in-basic', 'creations', 'basic/credentials'],
  ['body-sent-in-chunks-signed-as-empty', 'chunks', 'signatures/request-body'],
  ['no-key-limit-for-refreshed-tokens', 'limit', 'limits/ten-keys'],
  ['grant-params-in-snake-case-accepted', 'names of params', 'grants/params'],
  ['letter-case-of-envelope-members-ignored', 'names of members', 'envelope/request-members'],
  ['overlong-token-lets-in', 'tokens', 'tokens/authorize'],
  ['absolute-uri-accepted', 'mistakes in signed data', 'signatures/request-uri'],
]
test.each(partUnlessProof(showing, 4))('%s shows', async (id, name, requirement) => {
  expect(await brokenBy(broken(id), sequences[name] as (caller: Caller) => Promise<void>)).toContain(requirement)
})

test('the area is looked for in the names of sessions', async () => {
  const around: ServerOptions['around'] = (handle) => (request) => {
    const body = request.body.toString('utf8').replace(/"session:(?:my-)?solution/, '"solution",$&')
    return handle({ ...request, body: Buffer.from(body) })
  }
  expect(await brokenBy({ around }, sequences.scopes as (caller: Caller) => Promise<void>)).toContain('scopes/thread')
})
