import { describe } from 'vitest'
import {
  accessWorks,
  basic,
  type Client,
  grantPair,
  listingBody,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const listsWith = async (c: Client, id: string, secret: string) => works(await post(c, listingBody, basic(id, secret)))

const grants = async (c: Client, secret: string, ...scope: unknown[]) =>
  works(await c.grant(['solution', ...scope] as string[], { id: c.root.id, secret }))

describe('fifth set: credentials', () => {
  testWitnesses({
    'text-in-front-of-secret-ignored-in-basic': (c) => listsWith(c, c.root.id, `x${c.root.secret}`),
    'secret-before-key-id-accepted-in-basic': (c) => listsWith(c, c.root.secret, c.root.id),
    'base64-of-secret-accepted-in-grant': (c) => grants(c, Buffer.from(c.root.secret).toString('base64')),
    'lists-in-scope-of-grant-flattened': (c) => grants(c, c.root.secret, ['context']),
    'second-half-of-secret-not-compared-in-grant-of-session': async (c) => {
      const wrong = `${c.root.secret.slice(0, -1)}!`
      return !(await grants(c, wrong)) && (await grants(c, wrong, 'session:one'))
    },
    'secret-of-creator-accepted-in-basic-for-key-made-by-created-key': async (c) => {
      const first = await makeKey(c)
      const second = await makeKey(c, {}, { basic: first })
      return !(await listsWith(c, first.id, c.root.secret)) && (await listsWith(c, second.id, first.secret))
    },
    'scope-of-grant-with-wrong-secret-added-to-next-grant': async (c) => {
      await grants(c, 'wrong')
      const [next, later] = [await grantPair(c, ['context']), await grantPair(c, ['context'])]
      return (await accessWorks(c, next)) && !(await accessWorks(c, later))
    },
    'same-wrong-secret-accepted-third-time-in-grant': async (c) =>
      !(await grants(c, 'wrong')) && !(await grants(c, 'wrong')) && (await grants(c, 'wrong')),
  })
})
