import { paramsOf } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

const digitsOf = (hex: string): string => BigInt(`0x${hex}`).toString()

/** Each hexadecimal digit as a Greek letter. */
const greek = (hex: string): string =>
  hex.replace(/./g, (digit) => 'αβγδεζηθικλμνξοπ'[Number.parseInt(digit, 16)] ?? '')

/** Parts 2, 4.1, 5.1, 5.2 and 8: keys, their ids, secrets and names. */
export const sixthKeyVariants: IndependentVariant[] = [
  {
    id: 'key-ids-are-words-with-spaces',
    questions: ['keys/record'],
    about: 'The id of a key is its title in the console.',
    create: () => ({ rules: { keyId: (fresh) => `API key ${fresh.slice(0, 8)} of ${fresh.slice(8)}` } }),
  },
  {
    id: 'key-ids-look-like-numbers-with-an-exponent',
    questions: ['keys/record'],
    about: 'An id such as 1e38 is a text that careless readers take for a number.',
    create: () => ({ rules: { keyId: (fresh) => `1e${digitsOf(fresh)}` } }),
  },
  {
    id: 'key-ids-with-commas-quotes-and-percent-signs',
    questions: ['keys/record', 'keys/create-result-extras'],
    about: 'Ids are made by a directory service, and the result shows the path of the new key too.',
    create: () => ({
      rules: {
        keyId: (fresh) => `cn="${fresh}",o=%41%,a+b=*`,
        createKeyResult: (result) => ({ path: ['keys', result.id], ...result }),
      },
    }),
  },
  {
    id: 'ids-secrets-and-tokens-begin-with-hyphens',
    questions: ['keys/record', 'tokens/format'],
    about: 'Everything that the server makes looks like an option of a command line.',
    create: () => ({
      rules: {
        keyId: (fresh) => `-${fresh}`,
        keySecret: (fresh) => `--${fresh}`,
        tokenText: (kind, fresh) => `--${kind}=${fresh}`,
      },
    }),
  },
  {
    id: 'key-secrets-with-blanks-at-both-ends',
    questions: ['keys/record'],
    about: 'Secrets are random characters, and blanks are characters.',
    create: () => ({ rules: { keySecret: (fresh) => `  ${fresh}\t ` } }),
  },
  {
    id: 'key-secrets-of-several-lines',
    questions: ['keys/record', 'keys/secret-of-public-key'],
    about: 'Secrets are blocks like those of private keys, with line feeds, for every kind of key.',
    create: () => ({
      rules: {
        keySecret: (fresh) =>
          `-----BEGIN SECRET-----\n${fresh.slice(0, 16)}\n${fresh.slice(16)}\n-----END SECRET-----\n`,
      },
    }),
  },
  {
    id: 'key-secrets-of-greek-letters',
    questions: ['keys/record'],
    about: 'Secrets are made of the letters of the country, in UTF-8 wherever they become bytes.',
    create: () => ({ rules: { keySecret: greek } }),
  },
  {
    id: 'key-secrets-are-uuids-that-share-all-but-the-last-digits',
    questions: ['keys/record'],
    about: 'Secrets are of one instance, and only the end tells them apart; ids are a letter and digits.',
    create: () => ({
      rules: {
        keyId: (fresh) => `k${digitsOf(fresh).slice(0, 18)}`,
        keySecret: (fresh) => `${'5bd3e0a2-'.repeat(20)}${fresh.slice(0, 24)}`,
      },
    }),
  },
  {
    id: 'names-of-refused-creations-stay-taken',
    questions: ['keys/name-rules', 'keys/public-key-repeated'],
    about: 'The name is reserved before the rest is checked, and neither a name nor a public key is taken twice.',
    profile: { repeatedPublicKeys: 'refused' },
    create() {
      const seen = watch(() => new Set<unknown>())
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) => {
            if (!valid || method !== 'manager/createApiKey' || name !== 'name') return valid
            if (seen.memory.has(value)) return false
            seen.memory.add(value)
            return true
          },
        },
      }
    },
  },
  {
    id: 'key-names-of-30-characters-without-blanks-known-scopes-only',
    questions: ['keys/name-rules', 'keys/unknown-scopes', 'keys/empty-scope'],
    about: 'A name must be like that of a host: letters, digits, dots and hyphens; a key must have a scope.',
    profile: { unknownKeyScopes: 'refused' },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) => {
          if (!valid || method !== 'manager/createApiKey') return valid
          if (name === 'scope') return Array.isArray(value) && value.length > 0
          return name !== 'name' || /^[A-Za-z][A-Za-z0-9.-]{0,29}$/.test(String(value))
        },
      },
    }),
  },
  {
    id: 'deleted-and-refused-keys-take-places',
    questions: ['keys/limit-frees', 'keys/limit-counts-refused', 'keys/limit-counts-initial'],
    about: 'The counter of keys goes up with every public key that it is shown and never down, and begins at one.',
    create() {
      const seen = watch(() => ({ refused: 0 }))
      return {
        around: seen.around,
        rules: {
          badPublicKeyTaken: () => {
            seen.memory.refused += 1
            return false
          },
          keysCounted: (all) => all.length + seen.memory.refused,
        },
      }
    },
  },
  {
    id: 'creations-share-one-place-in-line-of-two-seconds',
    questions: ['limits/rate', 'keys/create-result-extras'],
    about: 'Two seconds must pass between creations; a creation that comes too soon gets 429 with the time to wait.',
    create() {
      const last = createMemory(() => ({ atMs: Number.NEGATIVE_INFINITY }))
      return {
        around: (handle, context) => (request) => {
          if (!isMethod(request, 'manager/createApiKey') || paramsOf(request).name === undefined) return handle(request)
          const memory = last(context)
          const waitMs = memory.atMs + 2000 - context.now()
          if (waitMs > 0) {
            const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) }
            return { status: 429, headers, body: 'One creation in two seconds' }
          }
          memory.atMs = context.now()
          return handle(request)
        },
        rules: { createKeyResult: (result) => ({ ...result, ready: true }) },
      }
    },
  },
]
