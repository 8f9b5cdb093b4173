import type { VariantClient } from '../../test-variant-client.ts'
import {
  created,
  creates,
  date,
  granted,
  isTaken,
  listed,
  listing,
  listsWith,
  lives,
  type Probe,
  refusal,
  root,
  signs,
  testVariantsOneByOne,
} from '../../test-variant-probes.ts'
import { sixthMoreVariants } from '../variants.ts'

/** Whether the first of several pairs still lists and refreshes after `count` further grants. */
const liveAfter = async (calls: VariantClient, count: number) => {
  const first = await granted(calls, 'solution')
  for (let at = 1; at < count; at++) await granted(calls, 'solution')
  const before = await listsWith(calls, first)
  await granted(calls, 'solution')
  return [before, await listsWith(calls, first), await isTaken(calls.refresh(first.refreshToken))]
}

/** The status and the members of the answer to an eleventh creation. */
const eleventh: Probe = async (calls) => {
  for (let at = 0; at < 10; at++) await creates(calls, {})
  const params = { name: 'key', scope: ['solution'] }
  const { status, json = {} } = await calls.call('manager/createApiKey', params, root(calls))
  return [status, Object.keys(json)]
}

const probes: { [id: string]: Probe } = {
  'default-lives-reach-to-a-full-minute': async (calls) => {
    calls.server.clock.advance(1234)
    return lives(calls)
  },
  'access-for-two-seconds-unless-asked-otherwise': lives,
  'both-tokens-end-twenty-hours-after-the-grant': lives,
  'clock-that-ticks-once-a-second': async (calls) => {
    calls.server.clock.advance(1234)
    return lives(calls)
  },
  'three-live-pairs-of-a-key-outside-sessions': (calls) => liveAfter(calls, 3),
  'one-live-pair-of-a-key-outside-sessions': (calls) => liveAfter(calls, 1),
  'each-refresh-halves-the-refresh-lifetime': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution')
    const { result } = await calls.refresh(refreshToken)
    return [await lives(calls), Number(result?.refreshTokenExpiry) - calls.now()]
  },
  'default-access-lifetime-is-what-the-key-last-asked-for': async (calls) => {
    await granted(calls, 'solution', 'expiresIn:7000')
    return lives(calls)
  },
  'same-grant-gets-its-pair-until-half-its-life-is-over': async (calls) => {
    const first = await granted(calls, 'solution')
    calls.server.clock.advance(60_000)
    const second = await granted(calls, 'solution')
    calls.server.clock.advance(500_000)
    const third = await granted(calls, 'solution')
    return [
      first.accessToken === second.accessToken,
      first.accessToken === third.accessToken,
      await listsWith(calls, first),
    ]
  },
  'one-refresh-of-a-line-each-second': async (calls) => {
    const before = calls.now()
    const { result } = await calls.refresh((await granted(calls, 'solution')).refreshToken)
    return [await isTaken(calls.refresh(result?.refreshToken)), calls.now() - before]
  },
  'every-nonce-that-arrives-is-used-up': async (calls) => [
    await isTaken(calls.list(calls.signed({ id: 'unknown', secret: 'none' }, { nonce: 'once' }))),
    await signs(calls, { nonce: 'once' }),
  ],
  'timestamps-one-second-old-or-three-ahead': async (calls) => [
    await signs(calls, { timestamp: String(calls.now() - 1001) }),
    await signs(calls, { timestamp: String(calls.now() + 2999) }),
  ],
  'timestamps-may-be-any-integer': async (calls) => [
    await signs(calls, { timestamp: '-7' }),
    await signs(calls, { timestamp: '9'.repeat(40) }),
  ],
  'two-nodes-with-clocks-four-minutes-apart': async (calls) => [
    await date(calls),
    await date(calls),
    await signs(calls, { timestamp: String(calls.now() - 540_000) }),
    await signs(calls, { timestamp: String(calls.now() - 540_000) }),
  ],
  'date-header-jumps-back-an-hour-after-thirty-answers': async (calls) => {
    for (let at = 0; at < 30; at++) await calls.list(root(calls))
    return date(calls)
  },
  'restrictions-in-scope-of-grant-and-not-of-refresh': async (calls) => {
    const first = await granted(calls, 'solution', 'session:one')
    return [first.scope, (await calls.refresh(first.refreshToken)).result?.scope]
  },

  'session-names-of-8-small-letters-and-digits-that-add': async (calls) => [
    await isTaken(calls.grant(calls.server.rootKey, ['solution', 'session:abcd1234'])),
    await isTaken(calls.grant(calls.server.rootKey, ['solution', 'session:abcd12345'])),
  ],
  'two-sessions-of-one-name-and-a-third-ends-the-first': async (calls) => {
    const pairs = []
    for (let at = 0; at < 3; at++) pairs.push(await granted(calls, 'solution', 'session:one'))
    return Promise.all(pairs.map((pair) => listsWith(calls, pair)))
  },
  'session-joined-by-the-same-scope-and-replaced-by-another': async (calls) => {
    const first = await granted(calls, 'solution', 'session:one')
    await granted(calls, 'session:one', 'solution')
    const before = await listsWith(calls, first)
    await granted(calls, 'context', 'session:one')
    return [before, await listsWith(calls, first)]
  },
  'key-names-unique-for-each-creator-in-any-case': async (calls) => {
    const key = await created(calls, { scope: ['apikey', 'solution'] })
    return [await creates(calls, { name: 'KEY' }), await creates(calls, {}, calls.basic(key))]
  },
  'created-keys-are-shown-with-a-tidy-scope': async (calls) => {
    const params = { name: 'key', scope: ['solution', 'apikey', 'solution'] }
    return (await calls.call('manager/createApiKey', params, root(calls))).result?.scope
  },
  'eleventh-key-gets-result-null-and-error-ids-are-null': eleventh,
  'eleventh-key-gets-409-and-the-list-of-the-ten': eleventh,
  'listing-grows-with-every-call': listed,
  'first-call-of-each-key-takes-1500-ms': async (calls) => {
    const before = calls.now()
    await calls.list(root(calls))
    await calls.list(root(calls))
    return calls.now() - before
  },
  'refusals-take-one-second-and-close-the-connection': async (calls) => {
    const before = calls.now()
    return [await refusal(calls), calls.now() - before]
  },
  'calls-of-one-key-wait-for-each-other': async (calls) => {
    const before = calls.now()
    const answers = Array.from({ length: 4 }, () => isTaken(calls.list(root(calls))))
    return [await Promise.all(answers), calls.now() - before]
  },
  'four-calls-in-work-at-once': (calls) =>
    Promise.all(Array.from({ length: 5 }, async () => (await calls.post(JSON.stringify(listing), root(calls))).status)),
  'every-fortieth-call-must-come-again': async (calls) => {
    const statuses = new Set<number>()
    for (let at = 0; at < 40; at++) statuses.add((await calls.post(JSON.stringify(listing), root(calls))).status)
    return [...statuses]
  },
  'kiosk-with-one-kib-and-nothing-further': async (calls) =>
    (await calls.post(JSON.stringify(listing).padEnd(1025), root(calls))).status,
  'museum-where-every-grant-is-a-session-of-all': lives,
}

testVariantsOneByOne(sixthMoreVariants, probes, { all: 30, combined: 25 })
