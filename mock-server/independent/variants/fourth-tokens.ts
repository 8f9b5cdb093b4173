import { scopeOf } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

/** Parts 4.2, 5.3 and 5.4: grants, tokens and their lifetimes. */
export const fourthTokenVariants: IndependentVariant[] = [
  {
    id: 'access-tokens-of-five-parts',
    questions: ['tokens/format'],
    about: 'Encrypted tokens, the second part of which is empty.',
    create: () => ({
      rules: {
        tokenText: (kind, fresh) =>
          kind === 'access' ? ['eyJhbGciOiJkaXIifQ', '', fresh.slice(0, 8), fresh.slice(8), 'tag-_0'].join('.') : fresh,
      },
    }),
  },
  {
    id: 'tokens-with-dots-and-tildes-at-the-ends',
    questions: ['tokens/format'],
    create: () => ({ rules: { tokenText: (_kind, fresh) => `.~-${fresh}_~.` } }),
  },
  {
    id: 'tokens-of-pair-differ-in-last-letter-only',
    questions: ['tokens/format'],
    create() {
      let last = ''
      return {
        rules: {
          tokenText: (kind, fresh) => {
            if (kind === 'access') last = fresh
            return `${last}${kind === 'access' ? 'a' : 'r'}`
          },
        },
      }
    },
  },
  {
    id: 'refresh-tokens-with-accents-quotes-and-spaces',
    questions: ['tokens/format'],
    about: 'They never stand in a header.',
    create: () => ({ rules: { tokenText: (kind, fresh) => (kind === 'refresh' ? `é "${fresh}" \\ ü` : fresh) } }),
  },
  {
    id: 'refresh-narrows-at-its-own-address-and-reuse-ends-family',
    questions: ['grants/scope-with-refresh', 'refresh/foreign-address', 'refresh/family'],
    profile: { scopeOnRefresh: 'narrows', refreshChecksAddress: true, reuseRevokesFamily: true },
  },
  {
    id: 'scope-of-result-lists-restrictions-first',
    questions: ['grants/scope-echo'],
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result) => {
            const restrictions = scopeOf(seen.request).filter((word) => /^(session|ipAddr|expiresIn):/.test(word))
            return { ...result, scope: [...restrictions, ...result.scope] }
          },
        },
      }
    },
  },
  {
    id: 'empty-scope-is-whole-key-and-apikey-has-one-spelling',
    questions: ['grants/empty-scope', 'scopes/apikey-spelling'],
    profile: { emptyScope: 'whole-key', apikeySpelling: 'apikey' },
  },
  {
    id: 'access-for-45-seconds-within-90-of-the-grant',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'refresh/expires-in-kept'],
    profile: { accessLifeMs: 45_000, refreshLifeMs: 90_000, refreshLifetime: 'kept', expiresInKept: false },
  },
  {
    id: 'expires-in-above-ten-minutes-refused-unknown-words-left-out',
    questions: ['expires-in/maximum', 'grants/unknown-scope'],
    profile: { unknownScopes: 'left-out' },
    create: () => ({
      rules: {
        expiresInMs: (text) => (/^[1-9][0-9]{0,5}$/.test(text) && Number(text) <= 600_000 ? Number(text) : undefined),
      },
    }),
  },
]
