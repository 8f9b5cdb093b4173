import { createHmac } from 'node:crypto'
import type { VariantClient } from './test-variant-client.ts'
import {
  created,
  creates,
  granted,
  isTaken,
  listing,
  listsWith,
  openSessions,
  type Probe,
  refusal,
  root,
  signs,
} from './test-variant-probes.ts'

type Pair = { accessToken?: unknown; refreshToken?: unknown }

/** The status and the error code of a call that is sent once, without waiting where it is throttled. */
async function once(calls: VariantClient, method: string, params: object, authorization?: string) {
  const { status, json } = await calls.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), authorization)
  return [status, (json?.error as { code?: unknown } | undefined)?.code]
}

const listOnce = (calls: VariantClient, authorization?: string) =>
  once(calls, 'solution/listSolutions', {}, authorization)

const grantOnce = (calls: VariantClient, secret: string, ...scope: string[]) =>
  once(calls, 'manager/auth', {
    grantType: 'api_key_credentials',
    apiKeyId: calls.server.rootKey.id,
    apiKeySecret: secret,
    scope: ['solution', ...scope],
  })

const wrongRoot = (calls: VariantClient) => calls.basic({ id: calls.server.rootKey.id, secret: 'wrong' })

/** The status of a listing with this access token from an address that is not ours. */
async function listsFromElsewhere(calls: VariantClient, { accessToken }: Pair): Promise<number> {
  const headers = { 'content-type': 'application/json', authorization: calls.bearer(String(accessToken)) }
  const body = Buffer.from(JSON.stringify(listing))
  return (await calls.server.handle({ method: 'POST', target: '/api', headers, body, remoteAddress: '127.0.0.2' }))
    .status
}

const refreshes = (calls: VariantClient, { refreshToken }: Pair) => isTaken(calls.refresh(refreshToken))

/** Ends tokens in each way and returns the answers to them, with their error codes. */
const endedTokens: Probe = async (calls) => {
  const answers: unknown[] = [await listOnce(calls, calls.bearer('unknown'))]
  const old = await granted(calls, 'solution')
  await calls.refresh(old.refreshToken)
  answers.push(await listOnce(calls, calls.bearer(String(old.accessToken))))
  const bound = await granted(calls, 'solution', 'ipAddr:127.0.0.1')
  answers.push(await listsFromElsewhere(calls, bound))
  const brief = await granted(calls, 'solution', 'expiresIn:1000')
  calls.server.clock.advance(2000)
  answers.push(await listOnce(calls, calls.bearer(String(brief.accessToken))))
  return answers
}

/** Locks the initial key with wrong Basic credentials and returns what right ones get then, and later. */
const lockWith =
  (tries: number, laterMs: number): Probe =>
  async (calls) => {
    for (let at = 0; at < tries; at++) await listOnce(calls, wrongRoot(calls))
    const locked = await listOnce(calls, root(calls))
    calls.server.clock.advance(laterMs)
    return [locked, await listOnce(calls, root(calls))]
  }

/** Whether the nonces of two signed listings, the first of them with this secret, are both taken. */
const noncePair =
  (first: string, second: string, secret?: string): Probe =>
  async (calls) => {
    const { rootKey } = calls.server
    const key = { id: rootKey.id, secret: secret ?? rootKey.secret }
    return [await isTaken(calls.list(calls.signed(key, { nonce: first }))), await signs(calls, { nonce: second })]
  }

const nonceOfRefusedCall: Probe = async (calls) => {
  const signed = calls.signed(calls.server.rootKey, { nonce: 'one-nonce' })
  const answers = [await isTaken(calls.call('manager/createApiKey', {}, signed))]
  answers.push(await signs(calls, { nonce: 'one-nonce' }), await signs(calls, { nonce: 'one-nonce' }))
  return answers
}

/** A misuse of a token, and then whether its access token and its refresh token work. */
const misuse =
  (how: (calls: VariantClient, pair: Pair) => Promise<unknown>, ...scope: string[]): Probe =>
  async (calls) => {
    const pair = await granted(calls, 'solution', ...scope)
    await how(calls, pair)
    return [await listsWith(calls, pair), await refreshes(calls, pair)]
  }

const outsideScope = misuse((calls, { accessToken }) =>
  calls.call('context/listContexts', {}, calls.bearer(String(accessToken))),
)
const fromElsewhere = misuse(listsFromElsewhere, 'ipAddr:127.0.0.1')
const shownRefresh = misuse((calls, { refreshToken }) => calls.listWith(refreshToken))

/** Which of these pairs work after `count` further grants of the initial key, where the second one is used in between. */
const cacheOf =
  (count: number): Probe =>
  async (calls) => {
    const pairs = [await granted(calls, 'solution'), await granted(calls, 'solution', 'context')]
    for (let at = 0; at < count - 2; at++) await granted(calls, 'solution')
    calls.server.clock.advance(1000)
    const answers = [await listsWith(calls, pairs[1] ?? {})]
    await granted(calls, 'solution')
    for (const pair of pairs) answers.push(await listsWith(calls, pair))
    return answers
  }

const eleventh: Probe = async (calls) => {
  for (let at = 0; at < 10; at++) await created(calls)
  return once(calls, 'manager/createApiKey', { name: 'key', scope: ['solution'] }, root(calls))
}

/** The statuses of calls that are sent `count` times at one moment. */
async function statuses(count: number, call: () => Promise<unknown[]>): Promise<unknown[]> {
  const answers: unknown[] = []
  for (let at = 0; at < count; at++) answers.push(await call())
  return answers.slice(-2)
}

const usesOfSession: Probe = async (calls) => {
  const answers = await statuses(5, () => grantOnce(calls, calls.server.rootKey.secret, 'session:one'))
  return [...answers, await grantOnce(calls, calls.server.rootKey.secret, 'session:two')]
}

/** What the error of the first of seventeen sessions says; the sessions are of two keys. */
const removedSession: Probe = async (calls) => {
  const first = (await calls.grant(await created(calls), ['solution', 'session:first'])).result ?? {}
  await openSessions(calls, 16)
  return [await listOnce(calls, calls.bearer(String(first.accessToken))), await endedTokens(calls)]
}

/** What to try with each variant of the tenth set, by its id. */
export const tenthProbes: { [id: string]: Probe } = {
  'answers-say-jsonrpc-and-id-twice': async (calls) =>
    (await calls.post(JSON.stringify(listing), root(calls))).text.slice(0, 40),
  'batches-answered-from-their-end-with-status-207': async (calls) => {
    const { id: _, ...unnamed } = listing
    const answers = [await calls.post(JSON.stringify([listing, { ...listing, id: 6 }]), root(calls))]
    answers.push(await calls.post(JSON.stringify([unnamed]), root(calls)))
    return answers.map(({ status, text }) => [status, text.match(/"id":\d+/g)])
  },
  'refused-tokens-get-498-410-440-or-451': endedTokens,
  'ended-tokens-get-503-and-a-time-to-wait': endedTokens,
  'every-refused-token-is-called-expired': removedSession,
  'firewall-blocks-markup-and-quotes-in-names': async (calls) => [
    await creates(calls, { name: "O'Brien" }),
    await creates(calls, { name: 'O Brien' }),
    await grantOnce(calls, calls.server.rootKey.secret, 'session:<b>'),
  ],

  'eleventh-creation-finds-no-such-method': eleventh,
  'creation-with-the-same-id-and-body-is-a-retry': async (calls) => {
    const body = (id: number) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'manager/createApiKey',
        params: { name: 'key', scope: ['solution'] },
      })
    const ids = [await calls.post(body(1), root(calls)), await calls.post(body(1), root(calls))]
    ids.push(await calls.post(body(2), root(calls)))
    calls.server.clock.advance(2000)
    ids.push(await calls.post(body(1), root(calls)))
    const [first, ...others] = ids.map(({ result }) => (result as { id?: unknown } | undefined)?.id)
    return others.map((id) => id === first)
  },
  'nonces-are-unique-in-their-first-16-characters': noncePair('0123456789abcdef-1', '0123456789abcdef-2'),
  'nonces-are-unique-without-their-letter-case': noncePair('Nonce', 'nONCE'),
  'nonces-of-refused-calls-may-come-again': nonceOfRefusedCall,
  'creations-need-a-timestamp-of-three-seconds': async (calls) => {
    const timestamp = String(calls.now() - 4000)
    const params = { name: 'key', scope: ['solution'] }
    const signed = calls.signed(calls.server.rootKey, { timestamp })
    return [await isTaken(calls.call('manager/createApiKey', params, signed)), await signs(calls, { timestamp })]
  },
  'macs-are-decoded-before-they-are-compared': async (calls) => {
    const { id, secret } = calls.server.rootKey
    const body = JSON.stringify(listing)
    const takes = (nonce: string, change: (mac: string) => string) => {
      const data = `${calls.now()};${nonce};POST\n/api\n${body}\n`
      const mac = createHmac('sha256', secret).update(data).digest().subarray(0, 20).toString('base64')
      return isTaken(calls.post(body, `svc-hmac-sha256 ${id};1;${calls.now()};${nonce};${change(mac)}`))
    }
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const nextLetter = (mac: string) => `${mac.slice(0, 26)}${letters[letters.indexOf(mac[26] ?? '') + 1]}=`
    const answers = [await takes('one', (mac) => mac.replace('=', '')), await takes('two', nextLetter)]
    return [...answers, await takes('three', (mac) => `${mac[0] === 'A' ? 'B' : 'A'}${mac.slice(1)}`)]
  },

  'altered-refresh-token-ends-the-line-that-it-names': misuse((calls, { refreshToken }) =>
    calls.refresh(`${refreshToken}x`),
  ),
  'access-token-from-a-foreign-address-is-withdrawn': fromElsewhere,
  'refresh-token-shown-as-access-token-is-withdrawn': shownRefresh,
  'access-token-used-outside-its-scope-is-withdrawn': outsideScope,
  'used-refresh-token-ends-every-line-of-its-key': async (calls) => {
    const [line, other] = [await granted(calls, 'solution'), await granted(calls, 'solution')]
    const inSession = await granted(calls, 'solution', 'session:one')
    await calls.refresh(line.refreshToken)
    await calls.refresh(line.refreshToken)
    return [await listsWith(calls, other), await listsWith(calls, inSession)]
  },
  'same-grant-again-ends-the-pair-before': async (calls) => {
    const [one, two] = [await granted(calls, 'solution', 'context'), await granted(calls, 'solution')]
    await granted(calls, 'context', 'solution')
    return [await listsWith(calls, one), await listsWith(calls, two)]
  },
  'cache-of-32-pairs-drops-the-longest-unused': cacheOf(32),
  'last-of-several-sessions-and-lifetimes-counts': async (calls) => {
    const pair = await granted(calls, 'solution', 'expiresIn:90000', 'session:a', 'expiresIn:5000', 'session:b')
    return Number(pair.accessTokenExpiry) - calls.now()
  },

  'throttled-grants-look-like-a-wrong-secret': (calls) =>
    statuses(7, () => grantOnce(calls, calls.server.rootKey.secret)),
  'throttled-creations-look-like-the-key-limit': (calls) =>
    statuses(4, () => once(calls, 'manager/createApiKey', { name: 'key', scope: ['solution'] }, root(calls))),
  'refused-calls-cost-five-times-as-much': async (calls) => {
    const wrong = await statuses(11, () => listOnce(calls, wrongRoot(calls)))
    calls.server.clock.advance(1000)
    return [...wrong, ...(await statuses(26, () => listOnce(calls, root(calls))))]
  },
  'session-name-granted-four-times-in-five-seconds': usesOfSession,
  'lock-doubles-with-every-five-wrong-tries': async (calls) => {
    for (const laterMs of [1000, 0]) {
      for (let at = 0; at < 5; at++) await listOnce(calls, wrongRoot(calls))
      calls.server.clock.advance(laterMs)
    }
    calls.server.clock.advance(1000)
    const second = await listOnce(calls, root(calls))
    calls.server.clock.advance(1000)
    return [second, await listOnce(calls, root(calls)), await lockWith(5, 1000)(calls)]
  },
  'locked-key-is-said-not-to-exist': lockWith(7, 2000),
  'wrong-grants-lock-only-the-grants-of-a-key': async (calls) => {
    for (let at = 0; at < 6; at++) await grantOnce(calls, 'wrong')
    const locked = [await grantOnce(calls, calls.server.rootKey.secret), await listOnce(calls, root(calls))]
    calls.server.clock.advance(2000)
    return [...locked, await grantOnce(calls, calls.server.rootKey.secret)]
  },
  'guessed-key-ids-ban-their-address': async (calls) => {
    for (let at = 0; at < 8; at++) await listOnce(calls, calls.basic({ id: `guess-${at}`, secret: 'x' }))
    const banned = await listOnce(calls, root(calls))
    calls.server.clock.advance(2000)
    return [banned, await listOnce(calls, root(calls))]
  },
  'refresh-in-work-makes-the-others-come-again': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution')
    const refresh = () => once(calls, 'manager/auth', { grantType: 'refresh_token', refreshToken })
    return [...(await Promise.all([refresh(), refresh(), refresh()])), await refresh()]
  },

  'go-service-with-a-redis-store': async (calls) => [await refusal(calls), await cacheOf(48)(calls)],
  'java-service-with-a-lockout-library': async (calls) => [await lockWith(5, 1000)(calls), await refusal(calls)],
  'php-pages-behind-an-api-gateway': async (calls) => {
    const { text, result } = await calls.grant(calls.server.rootKey, ['solution'])
    const token = String((result as Pair | undefined)?.accessToken)
    return [text.includes('\\/'), token.split('/').length, await statuses(12, () => grantOnce(calls, 'wrong'))]
  },
  'rewrite-with-another-session-store': removedSession,
  'bank-that-withdraws-every-misused-token': async (calls) => [
    await outsideScope(calls),
    await fromElsewhere(calls),
    await shownRefresh(calls),
  ],
  'island-with-a-clock-of-coarse-steps': async (calls) => {
    const { accessTokenExpiry } = await granted(calls, 'solution')
    const minutesAgo = (minutes: number) =>
      signs(calls, { timestamp: String((Math.floor(calls.now() / 60_000) - minutes) * 60_000) })
    const answers = [
      await minutesAgo(1),
      await minutesAgo(-1),
      await signs(calls, { timestamp: String(calls.now() - 9e4) }),
    ]
    return [...answers, Number(accessTokenExpiry) % 256, await nonceOfRefusedCall(calls)]
  },
}
