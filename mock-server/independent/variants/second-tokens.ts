import { rules as right } from '../../rules.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'

const minute = 60_000
const hour = 60 * minute

const jwtStart = Buffer.from(JSON.stringify({ alg: 'EdDSA', typ: 'JWT', kid: 'service-2026' })).toString('base64url')

/** The scope of a result in another spelling and order. */
const respell = <T extends { scope: string[] }>(result: T): T => ({
  ...result,
  scope: [...new Set(result.scope)]
    .map((word) => (word === 'apiKey' ? 'apikey' : word))
    .sort()
    .reverse(),
})

/** Parts 3, 4.2, 5.1 and 5.3: tokens, their lifetimes, nonces. */
export const secondTokenVariants: IndependentVariant[] = [
  {
    id: 'tokens-like-jwts-with-one-start',
    questions: ['tokens/format'],
    about: 'All tokens begin with the same hundred letters and have two dots.',
    create: () => ({
      rules: {
        tokenText: (kind, fresh) => {
          const claims = Buffer.from(JSON.stringify({ iss: 'service', use: kind, jti: fresh.slice(0, 12) }))
          return `${jwtStart}.${claims.toString('base64url')}.${fresh}`
        },
      },
    }),
  },
  {
    id: 'access-tokens-of-3000-letters',
    questions: ['tokens/format'],
    about: 'Refresh tokens have sixteen letters.',
    create: () => ({
      rules: { tokenText: (kind, fresh) => (kind === 'access' ? fresh + 'a'.repeat(2957) : fresh.slice(0, 16)) },
    }),
  },
  {
    id: 'refresh-token-begins-with-its-access-token',
    questions: ['tokens/format'],
    create() {
      let access = ''
      return {
        rules: {
          tokenText: (kind, fresh) => {
            if (kind === 'refresh') return `${access}.r`
            access = fresh
            return fresh
          },
        },
      }
    },
  },
  {
    id: 'tokens-with-signs-of-base64',
    questions: ['tokens/format', 'grants/scope-echo'],
    about: 'Tokens have +, / and =; the scope of the result is in reverse order with apikey in small letters.',
    create: () => ({
      rules: {
        tokenText: (_kind, fresh) => `${fresh.slice(0, 20)}+/${fresh.slice(20)}==`,
        grantResult: (result) => respell(result),
        refreshResult: (result) => respell(result),
      },
    }),
  },
  {
    id: 'access-lives-as-long-as-refresh',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed'],
    about: 'Both live for an hour, and a refresh does not prolong it.',
    profile: { accessLifeMs: hour, refreshLifeMs: hour, refreshLifetime: 'kept' },
  },
  {
    id: 'expires-in-above-one-hour-refused',
    questions: ['expires-in/maximum', 'refresh/expires-in-kept'],
    profile: { expiresInKept: false },
    create: () => ({
      rules: {
        expiresInMs: (text) => {
          const ms = right.expiresInMs(text)
          return ms === undefined || ms > hour ? undefined : ms
        },
      },
    }),
  },
  {
    id: 'lives-of-two-and-three-minutes',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'expires-in/too-long'],
    profile: {
      accessLifeMs: 2 * minute,
      refreshLifeMs: 3 * minute,
      refreshLifetime: 'kept',
      expiresInTooLong: 'capped',
    },
  },
  {
    id: 'token-prefix-of-its-own-in-any-case',
    questions: ['tokens/prefix', 'signatures/scheme-case'],
    profile: { tokenPrefix: 'access-token', schemeCase: 'any' },
    settings: { tokenPrefix: 'access-token' },
  },
  {
    id: 'token-alone-and-header-of-grant-refused',
    questions: ['tokens/prefix', 'grants/authorization-header', 'grants/empty-scope'],
    profile: { tokenPrefix: '', authHeaderOnGrant: 'refused', emptyScope: 'refused' },
    settings: { tokenPrefix: '' },
  },
  {
    id: 'nonces-of-base64-and-at-least-16-letters',
    questions: ['signatures/nonce-length', 'signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'A nonce has 16 to 64 letters of BASE64 and is not used up by a wrong signature.',
    profile: { nonceBurntByBadSignature: false },
    create: () => ({ rules: { nonceTaken: (nonce) => /^[A-Za-z0-9+/_-]{16,64}={0,2}$/.test(nonce) } }),
  },
  {
    id: 'nonce-remembered-with-key-and-timestamp',
    questions: ['signatures/nonce-reuse', 'signatures/time-window'],
    about: 'A nonce may be used again with another timestamp or by another key, within a window of two minutes.',
    profile: { nonceReuse: 'accepted', timeWindowMs: 2 * minute },
    create() {
      const memoryOf = createMemory(() => ({ used: new Set<string>() }))
      return {
        around: (handle, context) => (request) => {
          const fields = request.headers.authorization?.split(';') ?? []
          if (fields.length !== 5) return handle(request)
          const { used } = memoryOf(context)
          const place = fields.slice(0, 4).join(';')
          if (!used.has(place)) {
            used.add(place)
            return handle(request)
          }
          const authorization = `${place};used`
          return handle({ ...request, headers: { ...request.headers, authorization } })
        },
      }
    },
  },
  {
    id: 'signatures-without-padding-and-day-long-window',
    questions: [
      'signatures/base64-padding',
      'signatures/nonce-padding',
      'signatures/time-window',
      'signatures/scheme-case',
    ],
    profile: {
      unpaddedSignatures: 'accepted',
      noncePadding: 'accepted',
      timeWindowMs: 24 * hour,
      schemeCase: 'any',
      nonceMaxLength: 1024,
    },
  },
  {
    id: 'reuse-ends-family-and-foreign-refresh-refused',
    questions: ['refresh/family', 'refresh/foreign-address', 'grants/scope-with-refresh', 'refresh/expires-in-kept'],
    profile: {
      reuseRevokesFamily: true,
      refreshChecksAddress: true,
      scopeOnRefresh: 'narrows',
      expiresInKept: false,
    },
  },
]
