import {
  created,
  creates,
  listing,
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
}

testVariantsOneByOne(sixthVariants, probes, { all: 20, combined: 8 })
