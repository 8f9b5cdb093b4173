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
  pem,
  refusal,
  root,
  signs,
  testVariantsOneByOne,
} from '../../test-variant-probes.ts'
import { sixthMoreVariants, sixthVariants } from '../variants.ts'

const keyForm: Probe = async (calls) => {
  const { id, secret } = await created(calls)
  return [
    id.replace(/[0-9a-f]/g, '0').length,
    id.includes(' '),
    /^[0-9a-f]{32}$/.test(id),
    /^[0-9a-f]{32}$/.test(secret),
  ]
}

/** How many letters the tokens have, spaces and other signs apart. */
const tokenForm: Probe = async (calls) => {
  const { accessToken, refreshToken } = await granted(calls, 'solution')
  return [accessToken, refreshToken].map((text) => String(text).replace(/[\w-]/g, '').length + String(text).length)
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
}

const variants = sixthVariants.filter((variant) => !sixthMoreVariants.includes(variant))

testVariantsOneByOne(variants, probes, { all: 40, combined: 20 })
