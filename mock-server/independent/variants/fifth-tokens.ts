import { paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

const minute = 60_000
const hour = 60 * minute

/** Parts 4.2, 5.3 and 5.4: grants, tokens, addresses and lifetimes. */
export const fifthTokenVariants: IndependentVariant[] = [
  {
    id: 'tokens-look-like-the-fields-of-a-signature',
    questions: ['tokens/format'],
    create: () => ({
      rules: {
        tokenText: (_kind, fresh) => `${fresh.slice(0, 9)};1;1767225600000;${fresh.slice(9, 20)};${fresh.slice(20)}`,
      },
    }),
  },
  {
    id: 'tokens-begin-with-their-word-and-words-in-any-case',
    questions: ['tokens/format', 'signatures/scheme-case'],
    profile: { schemeCase: 'any' },
    create: () => ({ rules: { tokenText: (_kind, fresh) => `Bearer:${fresh}` } }),
  },
  {
    id: 'refreshed-access-tokens-live-six-times-as-long',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    profile: { expiresInKept: false, accessLifeMs: 5 * minute },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, { accessLifeMs }) =>
            expiresInMs ?? accessLifeMs * (paramsOf(seen.request).grantType === 'refresh_token' ? 6 : 1),
        },
      }
    },
  },
  {
    id: 'access-ends-at-second-full-hour-of-a-kept-lifetime',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed'],
    profile: { refreshLifetime: 'kept' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: { accessLifeMs: (expiresInMs) => expiresInMs ?? 2 * hour - (seen.nowMs % hour) },
      }
    },
  },
  {
    id: 'several-addresses-must-all-fit',
    questions: ['addresses/forms'],
    about: 'A token for two addresses can be granted, and is usable from neither.',
    create: () => ({ rules: { addressTaken: (addresses, remote) => addresses.every((one) => one === remote) } }),
  },
  {
    id: 'mapped-addresses-and-ranges-of-one-host-taken',
    questions: ['addresses/forms'],
    create: () => ({
      around: (handle) => (request) => {
        const scope = scopeOf(request)
        if (!scope.some((word) => /^ipAddr:(::ffff:.*|.*\/32)$/.test(word))) return handle(request)
        const plain = scope.map((word) => word.replace(/^ipAddr:(?:::ffff:)?([^/]*)(?:\/32)?$/, 'ipAddr:$1'))
        const params = { ...paramsOf(request), scope: plain }
        return handle(withMembers(request, { ...readMembers(request.body.toString('utf8')), params }))
      },
    }),
  },
  {
    id: 'expires-in-of-other-forms-is-the-default-and-unknown-words-left-out',
    questions: ['expires-in/forms', 'grants/unknown-scope'],
    profile: { unknownScopes: 'left-out' },
    create: () => ({
      rules: { expiresInMs: (text) => (/^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 15 * minute) },
    }),
  },
  {
    id: 'scope-of-result-names-each-scope-twice',
    questions: ['grants/scope-echo'],
    create: () => ({
      rules: {
        grantResult: (result) => ({ ...result, scope: [...result.scope, ...result.scope] }),
        refreshResult: (result) => ({ ...result, scope: [...result.scope, ...result.scope] }),
      },
    }),
  },
  {
    id: 'empty-scope-refused-and-refresh-narrows-within-a-kept-lifetime',
    questions: ['grants/empty-scope', 'grants/scope-with-refresh', 'refresh/lifetime-renewed'],
    profile: { emptyScope: 'refused', scopeOnRefresh: 'narrows', refreshLifetime: 'kept' },
  },
]
