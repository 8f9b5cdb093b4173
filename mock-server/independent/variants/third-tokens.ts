import { randomUUID } from 'node:crypto'
import { paramsOf, scopeOf } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'
import { watch } from '../watch.ts'

const hour = 3_600_000
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Parts 4.2, 5.3 and 5.4: grants, tokens and their lifetimes. */
export const thirdTokenVariants: IndependentVariant[] = [
  {
    id: 'access-tokens-signed-and-refresh-tokens-uuids',
    questions: ['tokens/format'],
    about: 'The two tokens of a pair look different: three parts with dots, and a UUID.',
    create: () => ({
      rules: {
        tokenText: (kind, fresh) =>
          kind === 'refresh' ? randomUUID() : `${part({ alg: 'EdDSA' })}.${part({ jti: fresh.slice(0, 9) })}.${fresh}`,
      },
    }),
  },
  {
    id: 'refresh-tokens-of-8000-letters',
    questions: ['tokens/format'],
    create: () => ({
      rules: { tokenText: (kind, fresh) => (kind === 'refresh' ? fresh.padEnd(8000, fresh) : fresh) },
    }),
  },
  {
    id: 'refresh-token-lives-ten-times-as-long-as-asked-for-access',
    questions: ['limits/token-lifetimes', 'expires-in/too-long'],
    about: 'At least an hour and at most 30 days, which a longer expiresIn is cut to.',
    profile: { expiresInTooLong: 'capped' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshLifeMs: () => {
            const word = scopeOf(seen.request).find((one) => one.startsWith('expiresIn:'))
            const wantedMs = Number(word?.slice('expiresIn:'.length) ?? 0) || 0
            return Math.min(Math.max(10 * wantedMs, hour), 30 * 24 * hour)
          },
        },
      }
    },
  },
  {
    id: 'scope-of-result-tells-the-lifetime',
    questions: ['grants/scope-echo', 'limits/token-lifetimes'],
    about: 'The scope of a result has an expiresIn even if none was asked for; access lasts for ten minutes.',
    profile: { accessLifeMs: 600_000 },
    create() {
      const held = holdContext()
      const told = <R extends { scope: string[]; accessTokenExpiry: number }>(result: R): R => ({
        ...result,
        scope: [...result.scope, `expiresIn:${result.accessTokenExpiry - held.get().now()}`],
      })
      return {
        around: held.around,
        rules: { grantResult: (result) => told(result), refreshResult: (result) => told(result) },
      }
    },
  },
  {
    id: 'one-address-that-also-refreshes',
    questions: ['addresses/forms', 'refresh/foreign-address'],
    about: 'A second ipAddr is refused, and a refresh comes from the address of its token.',
    profile: { refreshChecksAddress: true },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          !(
            method === 'manager/auth' &&
            name === 'scope' &&
            Array.isArray(value) &&
            value.filter((word) => String(word).startsWith('ipAddr:')).length > 1
          ),
      },
    }),
  },
  {
    id: 'empty-scope-refused-unknown-left-out-header-judged',
    questions: ['grants/empty-scope', 'grants/unknown-scope', 'grants/authorization-header'],
    profile: { emptyScope: 'refused', unknownScopes: 'left-out', authHeaderOnGrant: 'judged' },
  },
  {
    id: 'token-without-word-and-expires-in-for-one-token',
    questions: ['tokens/prefix', 'expires-in/too-long', 'refresh/expires-in-kept'],
    profile: { tokenPrefix: '', expiresInTooLong: 'capped', expiresInKept: false },
    settings: { tokenPrefix: '' },
  },
  {
    id: 'scope-of-result-in-another-order-after-refresh',
    questions: ['grants/scope-echo', 'refresh/lifetime-renewed'],
    about: 'A refresh reports the scopes backwards and keeps the end of the refresh token.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({
      rules: { refreshResult: (result) => ({ ...result, scope: [...result.scope].reverse() }) },
    }),
  },
  {
    id: 'refresh-takes-further-params-but-no-secret',
    questions: ['grants/extra-params', 'grants/scope-with-refresh', 'errors/outcomes'],
    about: 'A refresh ignores a scope and anything else, but is refused with the secret of a key beside it.',
    profile: { extraParams: 'ignored', scopeOnRefresh: 'ignored' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, _value, valid) => {
            const { apiKeySecret } = paramsOf(seen.request)
            return valid && !(method === 'manager/auth' && name === 'refreshToken' && apiKeySecret !== undefined)
          },
        },
      }
    },
  },
]
