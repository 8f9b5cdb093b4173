import { expect, test } from 'vitest'
import { exploreInMemory } from '../self/explore-in-memory.ts'
import { isProof, onlyInProof } from '../self/proof-form.ts'
import { createHandler, type ServerOptions } from '../targets/bundled.ts'
import type { Exploration } from './explore.ts'
import { isLocked } from './findings.ts'
import { basic, list } from './step.ts'
import { foundIn } from './test-findings.ts'

/** Explores a server that refuses Basic credentials of a key for a while after wrong ones in a row, and nothing else. */
async function exploreLocking(most: number, ms: number): Promise<Exploration & { locked: number }> {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const wrong = new Map<string, number>()
  const until = new Map<string, number>()
  let locked = 0
  const locking: typeof handle = async (request) => {
    const [, blob] = /^Basic (.*)$/.exec(request.headers.authorization ?? '') ?? []
    if (blob === undefined) return handle(request)
    // What Node decodes of any text.
    const [key = ''] = Buffer.from(blob.slice(0, 400), 'base64').toString('latin1').split(':')
    if (context.now() < (until.get(key) ?? 0)) {
      locked += 1
      return handle({ ...request, headers: { ...request.headers, authorization: 'Basic Og==' } })
    }
    const answer = await handle(request)
    const isRight = answer.status === 200 && answer.body.includes('"result"')
    const count = isRight ? 0 : (wrong.get(key) ?? 0) + 1
    wrong.set(key, count % most)
    if (count === most) until.set(key, context.now() + ms)
    return answer
  }
  return { ...(await exploreInMemory({ handle: locking, context }, { maxCalls: 3000 })), locked }
}

test.skipIf(!isProof).each([
  [6, 2000],
  [8, 30_000],
])(onlyInProof('nothing is found where %i wrong Basic credentials in a row lock them for %i ms'), async (most, ms) => {
  const { findings, locked } = await exploreLocking(most, ms)
  expect(findings.map(({ message, steps }) => [message, ...steps])).toEqual([])
  expect(locked).toBeGreaterThan(0)
})

test.each([
  ['an address is banned', true],
  ['a key is lost', false],
])('if %s, the initial key is refused everywhere, and so is another key: %s', async (_what, isBanned) => {
  let isOver = true
  const around: NonNullable<ServerOptions['around']> =
    (handle, { root }) =>
    async (request) => {
      const { authorization = '' } = request.headers
      const decoded = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()
      const isOfRoot = `${authorization} ${decoded}`.includes(root.id)
      return !isOver && (isBanned || isOfRoot) ? { status: 403, headers: {}, body: '' } : handle(request)
    }
  const { x, found } = await foundIn({ around }, async ({ x }) => {
    isOver = false
    await x.call(list(basic('root')))
  })
  const triesOf = (id: string | null) => (id === null ? 20 : 0)
  expect(found.length).toBe(1)
  for (const one of found) expect(await isLocked(x, one, triesOf)).toBe(isBanned)
})
