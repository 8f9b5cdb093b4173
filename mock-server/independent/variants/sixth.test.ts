import type { VariantClient } from '../../test-variant-client.ts'
import {
  created,
  creates,
  granted,
  isTaken,
  listing,
  listsWith,
  type Probe,
  pem,
  refusal,
  root,
  testVariantsOneByOne,
} from '../../test-variant-probes.ts'
import { sixthVariants } from '../variants.ts'

const keyForm: Probe = async (calls) => {
  const { id, secret } = await created(calls)
  return [
    id.replace(/[0-9a-f]/g, '0').length,
    id.includes(' '),
    /^[0-9a-f]{32}$/.test(id),
    /^[0-9a-f]{32}$/.test(secret),
  ]
}

const listed: Probe = async (calls) => {
  const { status, text } = await calls.post(JSON.stringify(listing), root(calls))
  return [status, text.replace(/"(id|created)":("[^"]*"|\d+)/g, '')]
}

const date: Probe = async (calls) => {
  await calls.list(root(calls))
  calls.server.clock.advance(5000)
  return (await calls.list(root(calls))).headers.get('date')
}

/** How many milliseconds the tokens of a grant live. */
const lives: Probe = async (calls) => {
  const { accessTokenExpiry, refreshTokenExpiry } = await granted(calls, 'solution')
  return [Number(accessTokenExpiry) - calls.now(), Number(refreshTokenExpiry) - calls.now()]
}

/** How many letters the tokens have, spaces and other signs apart. */
const tokenForm: Probe = async (calls) => {
  const { accessToken, refreshToken } = await granted(calls, 'solution')
  return [accessToken, refreshToken].map((text) => String(text).replace(/[\w-]/g, '').length + String(text).length)
}

const signs = (calls: VariantClient, but: { nonce?: string; timestamp?: string }) =>
  isTaken(calls.list(calls.signed(calls.server.rootKey, but)))

/** Whether the first of several pairs still lists and refreshes after `count` further grants. */
const liveAfter = async (calls: VariantClient, count: number) => {
  const first = await granted(calls, 'solution')
  for (let at = 1; at < count; at++) await granted(calls, 'solution')
  const before = await listsWith(calls, first)
  await granted(calls, 'solution')
  return [before, await listsWith(calls, first), await isTaken(calls.refresh(first.refreshToken))]
}

const probes: { [id: string]: Probe } = {
  'refusals-redirect-to-the-same-address': refusal,
  'refusals-401-tell-to-come-back-in-an-hour': refusal,
  'refusals-forbidden-beside-a-result-that-explains': refusal,
  'refusals-beside-results-with-empty-members': refusal,
  'two-releases-answer-in-turn': refusal,
  'refusals-of-half-a-megabyte': refusal,
  'listing-differs-in-every-call': listed,
  'listing-with-members-that-scripts-reserve': listed,
  'answers-begin-with-blanks-and-have-no-headers': listed,
  'date-header-of-the-first-answer': date,
  'successes-with-status-203-and-refusals-with-418': listed,

  'key-ids-are-words-with-spaces': keyForm,
  'key-ids-look-like-numbers-with-an-exponent': keyForm,
  'key-ids-with-commas-quotes-and-percent-signs': keyForm,
  'ids-secrets-and-tokens-begin-with-hyphens': keyForm,
  'key-secrets-with-blanks-at-both-ends': keyForm,
  'key-secrets-of-several-lines': keyForm,
  'key-secrets-of-greek-letters': keyForm,
  'key-secrets-are-uuids-that-share-all-but-the-last-digits': keyForm,
  'names-of-refused-creations-stay-taken': async (calls) => [
    await creates(calls, { name: 'one', publicKey: 'no key' }),
    await creates(calls, { name: 'one', publicKey: pem() }),
  ],
  'key-names-of-30-characters-without-blanks-known-scopes-only': (calls) => creates(calls, { name: 'two words' }),
  'deleted-and-refused-keys-take-places': async (calls) => {
    for (let at = 0; at < 3; at++) await creates(calls, { publicKey: 'no key' })
    const answers: boolean[] = []
    for (let at = 0; at < 10; at++) answers.push(await creates(calls, {}))
    return answers
  },
  'creations-share-one-place-in-line-of-two-seconds': async (calls) => {
    const before = calls.now()
    await created(calls)
    await created(calls)
    return calls.now() - before
  },

  'access-for-five-seconds-and-refresh-for-eight': lives,
  'refresh-tokens-live-until-the-year-2100': lives,
  'access-tokens-are-four-words': tokenForm,
  'tokens-of-16-letters-behind-any-word-or-none': async (calls) => {
    const { accessToken } = await granted(calls, 'solution')
    return [await isTaken(calls.list(`Any ${accessToken}`)), await isTaken(calls.list(String(accessToken)))]
  },
  'tokens-of-6000-letters-with-one-beginning': tokenForm,
  'tokens-with-quotes-backslashes-and-commas': tokenForm,
  'refresh-tokens-of-emoji': tokenForm,
  'grant-repeated-within-ten-seconds-gives-the-same-pair': async (calls) => {
    const [first, second] = [await granted(calls, 'solution'), await granted(calls, 'solution')]
    return first.accessToken === second.accessToken
  },
  'used-refresh-token-ends-its-line-and-its-session': async (calls) => {
    const first = await granted(calls, 'solution', 'session:one')
    const second = await granted(calls, 'solution', 'session:one')
    await calls.refresh(first.refreshToken)
    const before = await listsWith(calls, second)
    await calls.refresh(first.refreshToken)
    return [before, await listsWith(calls, second)]
  },
  'five-live-access-tokens-of-a-key-outside-sessions': async (calls) => {
    const first = await granted(calls, 'solution')
    for (let at = 0; at < 5; at++) await granted(calls, 'solution')
    return [await listsWith(calls, first), await isTaken(calls.refresh(first.refreshToken))]
  },
  'grants-need-an-api-area-and-ignore-other-params': (calls) =>
    isTaken(calls.grant(calls.server.rootKey, ['session:one'])),
  'six-wrong-refreshes-make-refreshes-wait-two-seconds': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution')
    for (let at = 0; at < 6; at++) await calls.refresh('wrong')
    const before = calls.now()
    return [await isTaken(calls.refresh(refreshToken)), calls.now() - before]
  },
  'refreshes-and-creations-take-700-ms': async (calls) => {
    const before = calls.now()
    await created(calls)
    return calls.now() - before
  },

  'nonces-of-16-bytes-and-timestamps-of-five-seconds': async (calls) => [
    await signs(calls, { nonce: 'short' }),
    await signs(calls, { timestamp: String(calls.now() - 6000) }),
    await signs(calls, { timestamp: String(calls.now() - 4000) }),
  ],
  'nonces-forgotten-at-every-full-minute': async (calls) => {
    const first = await signs(calls, { nonce: 'once' })
    const second = await signs(calls, { nonce: 'once' })
    calls.server.clock.advance(60_000)
    return [first, second, await signs(calls, { nonce: 'once' })]
  },
  'signatures-and-not-nonces-are-used-once': async (calls) => {
    const timestamp = String(calls.now())
    const body = JSON.stringify(listing)
    const header = calls.signed(calls.server.rootKey, { nonce: 'once', timestamp })(body)
    return [
      await isTaken(calls.post(body, header)),
      await isTaken(calls.post(body, header)),
      await signs(calls, { nonce: 'once', timestamp }),
    ]
  },
  'clock-twenty-years-ahead': date,
  'date-header-of-the-last-full-minute': date,
  'sessions-end-after-five-minutes-and-names-add': async (calls) => {
    const pair = await granted(calls, 'solution', 'session:one')
    calls.server.clock.advance(300_000)
    return listsWith(calls, pair)
  },
  'hotel-with-one-life-for-both-tokens-and-one-guest-book': lives,
  'school-with-token-alone-and-a-kind-reader': async (calls) => {
    const { status } = await calls.post('{"jsonrpc":"2.0","method":"solution/listSolutions"}', root(calls))
    return status
  },
  'bakery-with-thirty-calls-in-five-seconds': async (calls) => {
    const before = calls.now()
    for (let at = 0; at < 31; at++) await calls.list(root(calls))
    return calls.now() - before
  },
  'large-bodies-and-long-headers-get-no-answer': async (calls) => {
    const answer = calls.post(JSON.stringify({ ...listing, params: { skip: 0 } }).padEnd(5000), root(calls))
    return answer.then(({ status }) => status).catch(() => 'none')
  },
  'each-way-to-authorize-is-refused-by-another-library': refusal,
  'farm-with-one-spelling-and-no-more-rights-than-given': async (calls) =>
    isTaken(calls.grant(calls.server.rootKey, ['solution', 'ipAddr:198.51.100.9'])),
  'eleventh-key-gets-202-and-no-body': async (calls) => {
    for (let at = 0; at < 10; at++) await creates(calls, {})
    const { status } = await calls.call('manager/createApiKey', { name: 'key', scope: ['solution'] }, root(calls))
    return status
  },

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
}

testVariantsOneByOne(sixthVariants, probes, { all: 56, combined: 33 })
