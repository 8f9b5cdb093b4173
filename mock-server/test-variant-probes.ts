import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { IndependentVariant } from './independent/independent-variant.ts'
import { type Answer, startVariantClient, type VariantClient } from './test-variant-client.ts'

/** Makes some calls to a server and returns what to compare, as a JSON value. */
export type Probe = (calls: VariantClient) => Promise<unknown>

export const listing = { jsonrpc: '2.0', id: 5, method: 'solution/listSolutions', params: {} }

/** The Basic credentials of the initial key. */
export const root = (calls: VariantClient) => calls.basic(calls.server.rootKey)

export const isTaken = async (answer: Promise<Answer>) => (await answer).result !== undefined

/** Whether a server creates a key with these params. */
export const creates = (calls: VariantClient, params: object, by = root(calls)) =>
  isTaken(calls.call('manager/createApiKey', { name: 'key', scope: ['solution'], ...params }, by))

export const created = (calls: VariantClient, more = {}) =>
  calls.createKey({ name: 'key', scope: ['solution'], ...more })

/** The result of a grant to the initial key; an empty object where it is refused. */
export const granted = async (calls: VariantClient, ...scope: string[]) =>
  (await calls.grant(calls.server.rootKey, scope)).result ?? {}

/** Grants tokens to the initial key in sessions named `name-1`, `name-2` and so on. */
export async function openSessions(calls: VariantClient, count: number): Promise<void> {
  for (let at = 1; at <= count; at++) await granted(calls, 'solution', `session:name-${at}`)
}

export const listsWith = (calls: VariantClient, pair: { accessToken?: unknown }) =>
  isTaken(calls.listWith(pair.accessToken))

/** A new public key in PEM, as the document shows it. */
export function pem(): string {
  return generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString().trimEnd()
}

/** The status, the type and the body of a refusal. */
export const refusal: Probe = async (calls) => {
  const { status, headers, text } = await calls.post(JSON.stringify(listing))
  return [status, headers.get('content-type'), text]
}

/** The status and the text of a listing, without what differs in each server. */
export const listed: Probe = async (calls) => {
  const { status, text } = await calls.post(JSON.stringify(listing), root(calls))
  return [status, text.replace(/"(id|created)":("[^"]*"|\d+)/g, '')]
}

/** The Date header five seconds later. */
export const date: Probe = async (calls) => {
  await calls.list(root(calls))
  calls.server.clock.advance(5000)
  return (await calls.list(root(calls))).headers.get('date')
}

/** How many milliseconds the tokens of a grant live. */
export const lives: Probe = async (calls) => {
  const { accessTokenExpiry, refreshTokenExpiry } = await granted(calls, 'solution')
  return [Number(accessTokenExpiry) - calls.now(), Number(refreshTokenExpiry) - calls.now()]
}

/** Whether a signature of the initial key with this nonce or timestamp is accepted. */
export const signs = (calls: VariantClient, but: { nonce?: string; timestamp?: string }) =>
  isTaken(calls.list(calls.signed(calls.server.rootKey, but)))

const reference: IndependentVariant = { id: 'reference', questions: ['errors/codes'] }

/** Starts a server for one probe and returns what it saw, as text. */
async function look(variant: IndependentVariant, probe: Probe): Promise<string> {
  const calls = await startVariantClient(variant)
  try {
    return JSON.stringify(await probe(calls)) ?? 'undefined'
  } finally {
    await calls.server.close()
  }
}

/** Remembers how the reference server answers a probe, after it has answered it twice in the same way. */
function rememberReference(): (probe: Probe) => Promise<string> {
  const seen = new Map<Probe, Promise<string>>()
  const lookTwice = async (probe: Probe) => {
    const first = await look(reference, probe)
    expect(await look(reference, probe)).toBe(first)
    return first
  }
  return (probe) => {
    const answer = seen.get(probe) ?? lookTwice(probe)
    seen.set(probe, answer)
    return answer
  }
}

/**
 * Adds a test for each variant of a set: it answers at least one of its probes in another way than the reference server.
 *
 * @param probesOf The probes to try with the variant of this id, in order.
 * @param least How many variants the set has at least, and how many of them answer two open questions or more.
 */
export function testVariantSet(
  variants: readonly IndependentVariant[],
  probesOf: (id: string) => Probe[],
  least: { all: number; combined: number },
): void {
  const referenceAnswer = rememberReference()

  test.each(variants.map((variant) => [variant.id, variant] as const))('%s differs', async (id, variant) => {
    for (const probe of probesOf(id)) if ((await look(variant, probe)) !== (await referenceAnswer(probe))) return
    expect.fail('Every probe is answered as by the reference server')
  })

  test(`there are at least ${least.all}, of which ${least.combined} answer two questions or more`, () => {
    expect(variants.length).toBeGreaterThanOrEqual(least.all)
    expect(variants.filter(({ questions }) => questions.length > 1).length).toBeGreaterThanOrEqual(least.combined)
  })
}

/** Like {@link testVariantSet}, for a set with one probe for each variant, under its id. */
export function testVariantsOneByOne(
  variants: readonly IndependentVariant[],
  probes: { [id: string]: Probe },
  least: { all: number; combined: number },
): void {
  test('each variant has a probe', () => {
    expect(Object.keys(probes).sort()).toEqual(variants.map(({ id }) => id).sort())
  })

  testVariantSet(variants, (id) => [probes[id] ?? refusal], least)
}
