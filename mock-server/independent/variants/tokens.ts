import type { TokenResult } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { createMemory, holdContext } from '../server-memory.ts'

const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** Calls `issued` with every pair that the server issues. */
function watchPairs(issued: (pair: TokenPair) => void) {
  const held = holdContext()
  const find = (result: TokenResult) => {
    const pair = held.get().state.tokens.get(result.accessToken)?.pair
    if (pair) issued(pair)
    return result
  }
  return { held, rules: { grantResult: find, refreshResult: find } }
}

/** Keeps at most `bound` live access tokens for each key; `drop` ends the oldest ones. */
function boundTokens(bound: number, drop: (pair: TokenPair) => void) {
  const live = createMemory(() => new Map<string, TokenPair[]>())
  const { held, rules } = watchPairs((pair) => {
    const context = held.get()
    const isLive = ({ accessRevoked, family, session, accessExpiryMs }: TokenPair) =>
      !accessRevoked && !family.revoked && !session?.removed && accessExpiryMs > context.now()
    const pairs = [...(live(context).get(pair.key.id) ?? []).filter(isLive), pair]
    for (const old of pairs.splice(0, Math.max(pairs.length - bound, 0))) drop(old)
    live(context).set(pair.key.id, pairs)
  })
  return { around: held.around, rules }
}

const dropAccess = (pair: TokenPair) => {
  pair.accessRevoked = true
}

/** Part 5.3: how tokens look, how they are sent and compared, and how many there may be. */
export const tokenVariants: IndependentVariant[] = [
  {
    id: 'tokens-are-jwts',
    questions: ['tokens/format', 'tokens/prefix'],
    about: 'Tokens look like JSON Web Tokens, and the word before them is JWT.',
    profile: { tokenPrefix: 'JWT' },
    settings: { tokenPrefix: 'JWT' },
    create: () => ({
      rules: {
        tokenText: (kind, fresh) =>
          [base64url('{"alg":"HS256","typ":"JWT"}'), base64url(JSON.stringify({ use: kind, jti: fresh })), fresh].join(
            '.',
          ),
      },
    }),
  },
  {
    id: 'tokens-without-prefix-of-2000-characters',
    questions: ['tokens/format', 'tokens/prefix', 'grants/authorization-header'],
    about: 'A token of 2,000 characters stands alone in the header; a header on manager/auth is refused.',
    profile: { tokenLength: 2000, tokenPrefix: '', authHeaderOnGrant: 'refused' },
    settings: { tokenPrefix: '' },
  },
  {
    id: 'tokens-x-access-other-scheme',
    questions: ['tokens/prefix', 'signatures/scheme-case'],
    about: 'The word before a token is X-Access and that of signatures acme-hmac-sha256, both in any case.',
    profile: { tokenPrefix: 'X-Access', scheme: 'acme-hmac-sha256', schemeCase: 'any' },
    settings: { tokenPrefix: 'X-Access', scheme: 'acme-hmac-sha256' },
  },
  {
    id: 'tokens-prefix-token-short-tokens',
    questions: ['tokens/prefix', 'tokens/format', 'grants/authorization-header'],
    about: 'Tokens of 22 characters follow the word Token; a header on manager/auth must be a good one.',
    profile: { tokenPrefix: 'Token', tokenLength: 22, authHeaderOnGrant: 'judged' },
    settings: { tokenPrefix: 'Token' },
  },
  {
    id: 'tokens-compared-as-bytes',
    questions: ['tokens/format'],
    about: 'Tokens are padded BASE64; another spelling of the same bytes, unpadded or in base64url, is the same token.',
    create: () => ({
      rules: {
        tokenText: (_kind, fresh) => Buffer.from(fresh, 'base64url').toString('base64'),
        tokenNamed: (text, find) =>
          /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1
            ? find(Buffer.from(text, 'base64').toString('base64'))
            : undefined,
      },
    }),
  },
  {
    id: 'tokens-hex-in-any-case',
    questions: ['tokens/format'],
    about: 'Tokens are 64 hexadecimal digits, read in either case.',
    create: () => ({
      rules: {
        tokenText: (_kind, fresh) => Buffer.from(fresh, 'base64url').toString('hex'),
        tokenNamed: (text, find) => find(/^[0-9a-fA-F]+$/.test(text) ? text.toLowerCase() : text),
      },
    }),
  },
  {
    id: 'tokens-of-digits',
    questions: ['tokens/format', 'refresh/lifetime-renewed'],
    about: 'Tokens are digits only, and a refresh keeps the end of the refresh token.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({
      rules: {
        tokenText: (_kind, fresh) =>
          BigInt(`0x${Buffer.from(fresh, 'base64url').toString('hex')}`)
            .toString()
            .padStart(78, '0'),
      },
    }),
  },
  {
    id: 'tokens-with-common-beginning',
    questions: ['tokens/format'],
    about: 'All tokens of a kind begin and end with the same characters.',
    create: () => ({
      rules: { tokenText: (kind, fresh) => `svc_${kind}_v1.${'A'.repeat(40)}.${fresh}.${'A'.repeat(8)}==` },
    }),
  },
  {
    id: 'tokens-40-live-for-each-key',
    questions: ['limits/token-lifetimes', 'sessions/counting'],
    about: 'A key has at most 40 live access tokens; the oldest one ends, and its refresh token stays.',
    create: () => boundTokens(40, dropAccess),
  },
  {
    id: 'tokens-40-live-oldest-pair-ends-names-add',
    questions: ['limits/token-lifetimes', 'sessions/reused-name', 'refresh/lifetime-renewed'],
    about: 'Beyond 40 live access tokens of a key its oldest pair ends; a session can be there twice under one name.',
    profile: { reusedSessionName: 'adds', refreshLifetime: 'kept' },
    create: () =>
      boundTokens(40, (pair) => {
        pair.accessRevoked = true
        pair.refreshRevoked = true
      }),
  },
  {
    id: 'tokens-24-live-family-revoked',
    questions: ['limits/token-lifetimes', 'refresh/family', 'refresh/expires-in-kept'],
    about:
      'A key has at most 24 live access tokens, a used refresh token ends its family, and expiresIn holds for one grant.',
    profile: { reuseRevokesFamily: true, expiresInKept: false },
    create: () => boundTokens(24, dropAccess),
  },
]
