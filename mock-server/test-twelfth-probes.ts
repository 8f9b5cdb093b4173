import { bearerOf, createOnce, grantOnce, listOnce, once, repeated, wrongRoot } from './test-eleventh-probes.ts'
import type { VariantClient } from './test-variant-client.ts'
import {
  created,
  creates,
  granted,
  listing,
  listsWith,
  openSessions,
  type Probe,
  pem,
  root,
  signs,
} from './test-variant-probes.ts'

const grantTo = (calls: VariantClient, key: { id: string; secret: string }, ...scope: string[]) =>
  once(calls, 'manager/auth', { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope })

const deleteKey = (calls: VariantClient, { id }: { id: string }) =>
  calls.call('manager/deleteApiKey', { id }, root(calls))

const setEnabled = (calls: VariantClient, { id }: { id: string }, enabled: boolean) =>
  calls.call('manager/updateApiKey', { id, enabled }, root(calls))

/** Whether each of these nonces is taken, in order. */
async function takesNonces(calls: VariantClient, ...nonces: string[]): Promise<boolean[]> {
  const answers: boolean[] = []
  for (const nonce of nonces) answers.push(await signs(calls, { nonce }))
  return answers
}

/** How long the access token of a grant lives, in ms. */
const accessLife = async (calls: VariantClient, ...scope: string[]) =>
  Number((await granted(calls, 'solution', ...scope)).accessTokenExpiry) - calls.now()

const listText = async (calls: VariantClient) => calls.post(JSON.stringify(listing), root(calls))

/** What to try with each variant of the twelfth set, by its id. */
export const twelfthProbes: { [id: string]: Probe } = {
  'sleeps-after-thirty-seconds-without-calls': async (calls) => {
    const { clock } = calls.server
    const answers = [await listOnce(calls, root(calls))]
    clock.advance(500)
    answers.push(await listOnce(calls, root(calls)))
    clock.advance(29_000)
    answers.push(await listOnce(calls, root(calls)))
    clock.advance(30_000)
    answers.push(await listOnce(calls, root(calls)), await listOnce(calls))
    clock.advance(500)
    return [...answers, await listOnce(calls)]
  },
  'another-client-uses-most-of-the-rate-in-some-seconds': async (calls) => {
    const { clock } = calls.server
    clock.advance(4000 - (clock.now() % 4000))
    const taken = async () => {
      const answers = await repeated(61, () => listOnce(calls, root(calls)))
      clock.advance(1000)
      return answers.filter(([status]) => status === 200).length
    }
    const counts = await repeated(5, taken)
    return [...counts, await repeated(61, () => listOnce(calls, root(calls))).then((answers) => answers.at(-1))]
  },
  'calls-get-slower-until-the-server-restarts': async (calls) => {
    const { clock } = calls.server
    const startMs = clock.now()
    await repeated(100, () => listOnce(calls, root(calls)))
    const tookMs = clock.now() - startMs
    const answers = [await listOnce(calls, root(calls)), await listOnce(calls, root(calls))]
    clock.advance(300)
    const againMs = clock.now()
    return [tookMs, ...answers, await listOnce(calls, root(calls)), clock.now() - againMs]
  },
  'results-begin-with-what-everyone-did-before': async (calls) => {
    await listOnce(calls)
    const namesIn = (result: unknown) => Object.keys(result ?? {})
    const key = await calls.call('manager/createApiKey', { name: 'key', scope: ['solution'] }, root(calls))
    const big = JSON.stringify(listing).replace('"id":5', '"id":90071992547409931')
    const { text, json } = await calls.post(big, root(calls))
    const found = { ...(json?.result as object) } as { callsSoFar?: unknown }
    return [namesIn(key.result), found.callsSoFar, namesIn(found), text.includes('"id":90071992547409931,')]
  },
  'date-header-in-another-zone-or-missing-in-turn': async (calls) => {
    const dates = await repeated(4, async () => (await listText(calls)).headers.get('date'))
    const isRight = (date: string | null | undefined) => Date.parse(date ?? '') === calls.now()
    const timestamp = (agoMs: number) => ({ timestamp: String(calls.now() - agoMs) })
    return [
      dates.map(isRight),
      dates.map((date) => date?.slice(-5)),
      await signs(calls, timestamp(14_000)),
      await signs(calls, timestamp(16_000)),
    ]
  },
  'listing-comes-from-a-cache-with-its-old-date': async (calls) => {
    const first = await listText(calls)
    await calls.call('solution/createSolution', { name: 'Third solution' }, root(calls))
    calls.server.clock.advance(7000)
    const second = await listText(calls)
    const refused = await listOnce(calls, wrongRoot(calls))
    calls.server.clock.advance(1000)
    const third = await listText(calls)
    const countOf = ({ result }: typeof first) => result?.count
    const isOld = second.headers.get('date') === first.headers.get('date')
    return [[first, second, third].map(countOf), isOld, second.headers.get('age'), refused[1]]
  },

  'names-of-deleted-keys-are-never-free-again': async (calls) => {
    const key = await created(calls, { name: 'first' })
    const answers = [await creates(calls, { name: 'First' })]
    await deleteKey(calls, key)
    return [...answers, await creates(calls, { name: 'first' }), await creates(calls, { name: 'second' })]
  },
  'public-keys-are-registered-once-for-ever': async (calls) => {
    const publicKey = pem()
    const key = await created(calls, { publicKey })
    const answers = [await creates(calls, { publicKey: `${publicKey.replaceAll('\n', '\r\n')}\r\n` })]
    await deleteKey(calls, key)
    return [...answers, await creates(calls, { publicKey }), await creates(calls, { publicKey: pem() })]
  },
  'another-client-gives-its-place-back-after-twenty-seconds': async (calls) => {
    const answers = await repeated(10, () => createOnce(calls, root(calls)))
    calls.server.clock.advance(20_000)
    answers.push(await createOnce(calls, root(calls)), await createOnce(calls, root(calls)))
    return answers.slice(8)
  },
  'nodes-hear-of-new-and-enabled-keys-half-a-second-later': async (calls) => {
    const key = await created(calls)
    const lists = () => listOnce(calls, calls.basic(key))
    const answers = [await lists()]
    calls.server.clock.advance(500)
    answers.push(await lists())
    await setEnabled(calls, key, false)
    answers.push(await lists())
    await setEnabled(calls, key, true)
    answers.push(await lists())
    calls.server.clock.advance(500)
    answers.push(await lists())
    await deleteKey(calls, key)
    return [...answers, await lists()]
  },
  'each-creation-makes-the-next-one-wait-longer': async (calls) => {
    const answers = [await createOnce(calls, root(calls)), await createOnce(calls, root(calls))]
    calls.server.clock.advance(100)
    answers.push(await createOnce(calls, root(calls)))
    calls.server.clock.advance(100)
    answers.push(await createOnce(calls, root(calls)))
    calls.server.clock.advance(100)
    return [...answers, await createOnce(calls, root(calls))]
  },
  'refusals-tell-what-became-of-the-named-key': async (calls) => {
    const key = await created(calls)
    const lists = () => listOnce(calls, calls.basic(key))
    const answers = [await listOnce(calls, calls.basic({ ...key, secret: 'wrong' }))]
    await setEnabled(calls, key, false)
    answers.push(await lists(), await grantTo(calls, key, 'solution'))
    await deleteKey(calls, key)
    return [...answers, await lists(), await listOnce(calls, calls.basic({ ...key, id: 'unknown' }))]
  },

  'nonces-are-used-up-for-ever-for-every-key': async (calls) => {
    const answers = await takesNonces(calls, 'QUJDRA==', 'QUJDRA', 'QUJDRB')
    calls.server.clock.advance(365 * 86_400_000)
    const key = await created(calls)
    const other = await calls.list(calls.signed(key, { nonce: 'QUJDRB' }))
    return [...answers, ...(await takesNonces(calls, 'QUJDRA==')), other.result !== undefined]
  },
  'common-nonces-were-used-by-others-before': (calls) =>
    takesNonces(calls, '1', 'Nonce-1', 'test_nonce', 'abcdefghijklmnop', 'x'.repeat(40), 'nonce-Zk3Qw81LpTb7'),
  'three-nodes-remember-nonces-each-for-itself': (calls) =>
    takesNonces(calls, ...Array.from({ length: 5 }, () => 'the-same-nonce-again')),
  'restart-every-fifteen-seconds-forgets-nonces': async (calls) => {
    const pair = await granted(calls, 'solution')
    const answers = await takesNonces(calls, 'the-first-nonce', 'the-first-nonce')
    calls.server.clock.advance(15_100)
    const down = await listOnce(calls, root(calls))
    calls.server.clock.advance(200)
    return [...answers, down, ...(await takesNonces(calls, 'the-first-nonce')), await listsWith(calls, pair)]
  },
  'clock-goes-five-percent-too-fast-and-too-slow-in-turn': async (calls) => {
    const { clock } = calls.server
    clock.advance(40_000 - (clock.now() % 40_000))
    const ahead = async () => (await accessLife(calls)) - 90_000
    const answers = [await ahead()]
    for (const ms of [5000, 5000, 5000, 5000]) {
      clock.advance(ms)
      answers.push(await ahead())
    }
    return answers
  },

  'form-of-tokens-changes-every-ten-seconds': async (calls) => {
    const { clock } = calls.server
    clock.advance(40_000 - (clock.now() % 40_000))
    const pairs = await repeated(4, async () => {
      const pair = await granted(calls, 'solution')
      clock.advance(10_000)
      return pair
    })
    const works = await repeated(4, (at) => listsWith(calls, pairs[at] ?? {}))
    return [pairs.map(({ accessToken }) => String(accessToken).length), works]
  },
  'default-access-gets-shorter-the-more-tokens-are-alive': async (calls) => {
    const lives = await repeated(3, () => accessLife(calls))
    const asked = await accessLife(calls, 'expiresIn:600000')
    await repeated(40, () => granted(calls, 'solution'))
    return [...lives, asked, await accessLife(calls)]
  },

  'sixteen-sessions-of-another-client-are-there-already': async (calls) => {
    const answers = [await grantOnce(calls, 'solution', 'session:test')]
    const first = await granted(calls, 'solution', 'session:name-0')
    await openSessions(calls, 15)
    answers.push(await grantOnce(calls, 'solution', 'session:name-1'))
    const works = [await listsWith(calls, first)]
    answers.push(await grantOnce(calls, 'solution', 'session:test'))
    return [...answers, ...works, await listsWith(calls, first)]
  },
  'session-names-are-given-once-for-ever': async (calls) => {
    const key = await created(calls)
    const answers = [await grantTo(calls, key, 'solution', 'session:one')]
    await deleteKey(calls, key)
    answers.push(await grantOnce(calls, 'solution', 'session:one'), await grantOnce(calls, 'solution', 'session:two'))
    return [...answers, await grantOnce(calls, 'solution', 'session:two')]
  },
  'session-names-belong-to-the-first-key-that-had-them': async (calls) => {
    const key = await created(calls)
    const answers = [await grantTo(calls, key, 'solution', 'session:one')]
    await deleteKey(calls, key)
    const pair = await granted(calls, 'solution', 'session:two')
    answers.push(await grantOnce(calls, 'solution', 'session:one'), await grantOnce(calls, 'solution', 'session:two'))
    return [...answers, await listOnce(calls, bearerOf(calls, pair))]
  },
}
