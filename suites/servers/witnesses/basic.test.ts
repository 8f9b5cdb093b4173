import { describe } from 'vitest'
import {
  basic,
  type Client,
  createsKey,
  grantPair,
  inTurn,
  listingBody,
  listOn,
  makeEccKey,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const lists = async (client: Client, authorization: string) => works(await post(client, listingBody, authorization))
const rootBasic = ({ root }: Client) => basic(root.id, root.secret)
const wide = (text: string) => text.replaceAll(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))

describe('basic', () => {
  testWitnesses({
    'third-part-of-basic-credentials-ignored': (c) => lists(c, basic(c.root.id, `${c.root.secret}:more`)),
    'text-behind-basic-credentials-ignored': (c) => lists(c, `${rootBasic(c)} more`),
    'basic-credentials-in-plain-text-accepted': (c) => lists(c, `Basic ${c.root.id}:${c.root.secret}`),
    'basic-credentials-decoded-twice': (c) =>
      lists(c, `Basic ${Buffer.from(rootBasic(c).slice(6)).toString('base64')}`),
    'key-id-ends-at-nul-in-basic': (c) => lists(c, basic(`${c.root.id}\0more`, c.root.secret)),
    'letter-case-of-key-id-ignored-in-basic': (c) => lists(c, basic(c.root.id.toUpperCase(), c.root.secret)),
    'secret-normalised-in-basic': (c) => lists(c, basic(c.root.id, wide(c.root.secret))),
    'letter-case-of-secret-ignored-in-basic': (c) => lists(c, basic(c.root.id, c.root.secret.toUpperCase())),
    'empty-secret-accepted-in-basic': (c) => lists(c, basic(c.root.id, '')),
    'key-id-accepted-as-secret-in-basic': (c) => lists(c, basic(c.root.id, c.root.id)),
    'secret-of-key-with-same-name-accepted-in-basic': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      return lists(c, basic(one.id, other.secret))
    },
    'refresh-token-accepted-as-secret-in-basic': async (c) =>
      lists(c, basic(c.root.id, (await grantPair(c)).refreshToken)),
    'secret-behind-24-characters-ignored-on-key-creation': (c) =>
      createsKey(c, { basic: { id: c.root.id, secret: c.root.secret.slice(0, 24) } }),
    'ninth-wrong-secret-lets-in': async (c) =>
      (await inTurn(9, () => lists(c, basic(c.root.id, 'wrong')))).includes(true),
    'basic-secret-checked-once-a-second': async (c) => {
      await lists(c, rootBasic(c))
      return lists(c, basic(c.root.id, 'wrong'))
    },
    'public-key-secret-accepted-on-key-creation': async (c) => createsKey(c, { basic: await makeEccKey(c) }),
    'empty-authorization-header-lets-in': (c) => lists(c, ''),
    'unknown-scheme-lets-in': (c) => lists(c, 'Digest username="root"'),
    'connection-stays-authorized': async (c) => {
      await listOn(c, 1, { basic: c.root })
      return works(await listOn(c, 1, { none: true }))
    },
    'wrong-secret-on-authorized-connection-lets-in': async (c) => {
      await listOn(c, 1, { basic: c.root })
      return works(await listOn(c, 1, { basic: { id: c.root.id, secret: 'wrong' } }))
    },
  })
})
