/**
 * A part of the proof of the judge of clients: some of the test clients, each in the scenarios where it shows. `npm run clients` tries
 * all of them in all scenarios.
 */
import { describe, expect, test } from 'vitest'
import { loadCatalogue, type TestClient } from './clients/catalogue.ts'
import { judgementProblem, judgeTestClient } from './judge-client.ts'

const catalogue = await loadCatalogue()

function clientNamed(id: string): TestClient {
  const client = catalogue.find((one) => one.id === id)
  if (client === undefined) throw new RangeError(`There is no test client "${id}"`)
  return client
}

/** Clients, and the prefixes of the ids of their scenarios. */
const part: [id: string, ...scenarios: string[]][] = [
  // Right
  ['plain', 'plain/hmac', 'plain/ecc', 'error-in-200/'],
  ['pair-on-disk', 'restart/'],
  ['lost-refresh-not-repeated', 'lost-refresh/'],
  // Broken
  ['signs-sorted-members', 'plain/hmac'],
  ['ecc-key-by-basic', 'plain/ecc'],
  ['refresh-per-worker', 'workers/'],
  ['late-refusal-takes-grant', 'late-refusal/'],
  ['named-fields', 'plain/hmac'],
  ['create-key-repeated', 'create-key/'],
  ['redirect-followed', 'redirect/'],
  ['answer-id-not-read', 'foreign-id/'],
  // Inert
  ['ok-without-a-call', 'plain/basic'],
]

describe.concurrent('the judge of clients', () => {
  test.each(part)('%s', async (id, ...wanted) => {
    const client = clientNamed(id)
    const judge = () => judgeTestClient(client, (scenario) => wanted.some((begin) => scenario.startsWith(begin)))
    let judgement = await judge()
    // On a busy machine two calls of a client may miss each other.
    if (client.kind === 'broken' && judgement.notExercised.includes(client.check)) judgement = await judge()
    expect([judgementProblem(client, judgement), judgement.messages]).toEqual([
      null,
      client.kind === 'broken' ? expect.anything() : {},
    ])
  })
})
