import type { Attack, Setup } from './attack.ts'
import { evilText } from './attacks-of-answers.ts'
import { spoiltServer } from './servers.ts'

const disposable = (url: string): string[] => ['run', '--url', url, '--disposable', '--no-explore', '--timeout', '30']

/** Runs against a reference server whose accepted answers of `method` have these members in their result. */
const withResult = (method: string, members: { [name: string]: unknown }, only: string) => async (): Promise<Setup> => {
  const { url, close } = await spoiltServer((answer, called) => {
    if (called !== method) return
    const body = JSON.parse(answer.body)
    if (body.result === undefined) return
    answer.body = JSON.stringify({ ...body, result: { ...body.result, ...members } })
  })
  return { args: [...disposable(url), '--only', only], cleanUp: close }
}

const exits = [1]
const create = 'manager/createApiKey'
const auth = 'manager/auth'
const megabyte = 1024 * 1024

/** Attacks through keys, tokens and timestamps that a server issues. */
export const attacksOfValues: readonly Attack[] = [
  {
    id: 'key-id-with-escapes',
    about: 'terminal escapes in the id of a created key',
    exits,
    saysNot: /^Verdict: conforms/m,
    setUp: withResult(create, { id: evilText }, 'test-keys'),
  },
  {
    id: 'key-id-with-line-feeds',
    about: 'a header field smuggled into the id of a key',
    exits,
    setUp: withResult(create, { id: 'x\r\nx-evil: 1' }, 'test-keys'),
  },
  {
    id: 'key-id-of-a-megabyte',
    about: 'a key id of 1 MB',
    exits,
    setUp: withResult(create, { id: 'x'.repeat(megabyte) }, 'test-keys'),
  },
  {
    id: 'key-id-that-is-a-path',
    about: 'a key id that looks like a path',
    exits: [0, 1],
    setUp: withResult(create, { id: '../../../../etc/passwd' }, 'test-keys'),
  },
  {
    id: 'key-id-that-is-an-object',
    about: 'an object as the id of a key',
    exits,
    setUp: withResult(create, { id: { toString: 'x' } }, 'test-keys'),
  },
  {
    id: 'secret-of-a-megabyte',
    about: 'a secret of 1 MB',
    exits: [0, 1],
    setUp: withResult(create, { secret: 'x'.repeat(megabyte) }, 'test-keys'),
  },
  {
    id: 'secret-that-is-a-word',
    about: 'a secret that is a common word, which redaction must not blow up',
    exits: [0, 1],
    setUp: withResult(create, { secret: 'e' }, 'test-keys'),
  },
  {
    id: 'token-with-line-feeds',
    about: 'a header field smuggled into a token',
    exits,
    setUp: withResult(auth, { accessToken: 'x\r\nx-evil: 1' }, 'tokens/authorize'),
  },
  {
    id: 'token-with-escapes',
    about: 'terminal escapes in a token',
    exits,
    setUp: withResult(auth, { accessToken: evilText, refreshToken: evilText }, 'refresh/new-pair'),
  },
  {
    id: 'token-of-a-megabyte',
    about: 'a token of 1 MB',
    exits,
    setUp: withResult(auth, { accessToken: 'x'.repeat(megabyte) }, 'tokens/authorize'),
  },
  {
    id: 'refresh-token-of-two-megabytes',
    about: 'a refresh token of 2 MB, in every pair of a run',
    exits,
    withinMs: 35_000,
    setUp: async () => {
      const setup = await withResult(auth, { refreshToken: 'x'.repeat(2 * megabyte) }, 'refresh')()
      return { ...setup, args: setup.args.slice(0, -2) }
    },
  },
  {
    id: 'token-that-is-a-number',
    about: 'a number as token',
    exits,
    setUp: withResult(auth, { accessToken: 12 }, 'tokens'),
  },
  {
    id: 'expiry-beyond-time',
    about: 'an expiry that no date holds',
    exits: [0, 1],
    setUp: withResult(auth, { accessTokenExpiry: 1e300, refreshTokenExpiry: -1e300 }, 'expires-in'),
  },
  {
    id: 'expiry-that-is-text',
    about: 'a text as expiry',
    exits: [0, 1],
    setUp: withResult(auth, { accessTokenExpiry: evilText, refreshTokenExpiry: evilText }, 'grants/result'),
  },
  {
    id: 'expiry-in-a-century',
    about: 'an expiry that is too far away to wait for',
    exits: [0, 1],
    setUp: withResult(auth, { accessTokenExpiry: 9_999_999_999_999 }, 'expires-in/enforced'),
  },
  {
    id: 'scope-without-end',
    about: '100,000 scope words',
    exits: [0, 1],
    setUp: withResult(
      auth,
      { scope: Array.from({ length: 100_000 }, (_, index) => `scope-${index}`) },
      'grants/result',
    ),
  },
  {
    id: 'scope-with-escapes',
    about: 'terminal escapes as scope words',
    exits: [0, 1],
    setUp: withResult(auth, { scope: [evilText] }, 'grants/result'),
  },
  {
    id: 'token-type-with-escapes',
    about: 'terminal escapes as token type, which the run may try as a prefix',
    exits: [0, 1],
    setUp: withResult(auth, { tokenType: evilText }, 'grants/result'),
  },
  {
    id: 'listing-with-escapes',
    about: 'terminal escapes in what is observed',
    exits: [0, 1],
    setUp: withResult('solution/listSolutions', { list: [evilText], [evilText]: evilText }, 'solutions'),
  },
]
