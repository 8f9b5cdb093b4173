/** A server may put anything into an answer: the model survives it, and shows no secret that a server repeats. */
import { expect, test } from 'vitest'
import { exploreInMemory } from '../self/explore-in-memory.ts'
import { createHandler } from '../targets/bundled.ts'

const secret = 'a-root-secret-that-no-finding-may-show'

type Body = { result?: object; [name: string]: unknown }

/** Explores the reference server with other answers. */
function exploreWith(spoil: (body: Body) => Body) {
  const { handle, context } = createHandler({ clock: 'virtual', rootKey: { id: 'root', secret } })
  const spoilt: typeof handle = async (request) => {
    const answer = await handle(request)
    return { ...answer, body: JSON.stringify(spoil(JSON.parse(answer.body))) }
  }
  return exploreInMemory({ handle: spoilt, context }, { maxCalls: 300, seconds: 20, walks: 1 })
}

test('objects in place of texts end nothing', async () => {
  const odd = { id: { toString: 1 }, secret: { toString: null }, accessToken: { toString: 'x' }, refreshToken: [] }
  const { calls } = await exploreWith((body) => (body.result ? { ...body, result: { ...body.result, ...odd } } : body))
  expect(calls).toBeGreaterThan(50)
})

test('a secret that a server repeats stands in no finding', async () => {
  let answers = 0
  const { findings } = await exploreWith((body) => {
    answers += 1
    const scope = answers % 2 === 0 ? [secret] : ['solution']
    return body.result
      ? { jsonrpc: secret, id: [secret], result: { ...body.result, scope, tokenType: [secret] } }
      : body
  })
  expect(findings.length).toBeGreaterThan(0)
  expect(JSON.stringify(findings)).not.toContain(secret)
})
