import { rules as referenceRules } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { chain, changeAnswers } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory, holdContext } from '../server-memory.ts'

const createKey = 'manager/createApiKey'

/** The digits of a hexadecimal number. */
const decimal = (hex: string, digits: number) => BigInt(`0x${hex}`).toString().padStart(digits, '0')

/** Ids of more than 128 characters; the reference server accepts at most 128. */
const longIdTaken = (_method: string, name: string, value: unknown, valid: boolean) =>
  valid ||
  ((name === 'apiKeyId' || name === 'id') && typeof value === 'string' && value.length > 0 && value.length <= 256)

/** Whether `test` refuses a param of manager/createApiKey. */
const refuseKeyParam =
  (name: string, isRefused: (value: unknown) => boolean) =>
  (method: string, given: string, value: unknown, valid: boolean): boolean =>
    valid && !(method === createKey && given === name && value !== undefined && isRefused(value))

/** Parts 2, 4.1 and 8: how keys look, which keys may be created, and how many. */
export const keyVariants: IndependentVariant[] = [
  {
    id: 'key-ids-are-uuids',
    questions: ['keys/record', 'keys/create-result-extras'],
    about: 'Key ids are UUIDs in upper case, and the result of a creation has further members.',
    create: () => ({
      rules: {
        keyId: (fresh) => fresh.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-').toUpperCase(),
        createKeyResult: (result) => ({ ...result, type: 'api_key', enabled: true, links: [] }),
      },
    }),
  },
  {
    id: 'key-ids-and-secrets-of-digits',
    questions: ['keys/record', 'keys/secret-of-public-key'],
    about: 'Ids and secrets are digits only, so that no letter has a case.',
    create: () => ({
      rules: { keyId: (fresh) => decimal(fresh, 39), keySecret: (fresh) => decimal(fresh, 39) },
    }),
  },
  {
    id: 'key-ids-count-up',
    questions: ['keys/record'],
    about: 'Key ids are short numbers in order; secrets have one beginning in common.',
    create() {
      const held = holdContext()
      const counter = createMemory(() => ({ last: 100 }))
      return {
        around: held.around,
        rules: {
          keyId() {
            const count = counter(held.get())
            count.last += 1
            return String(count.last)
          },
          keySecret: (fresh) => `secret_live_0000000000000000_${fresh}`,
        },
      }
    },
  },
  {
    id: 'key-ids-of-200-characters',
    questions: ['keys/record'],
    about: 'Key ids have 200 characters, among them =, +, /, dots and a tilde; secrets have 300.',
    create: () => ({
      rules: {
        keyId: (fresh) => `${fresh}=+/._~-`.repeat(6).slice(0, 200),
        keySecret: (fresh) => `${fresh}${fresh}`.repeat(5).slice(0, 300),
        paramTaken: longIdTaken,
      },
    }),
  },
  {
    id: 'key-secrets-with-colons',
    questions: ['keys/record', 'signatures/base64-padding'],
    about: 'Secrets hold colons, semicolons, spaces and padding; signatures without padding are taken.',
    profile: { unpaddedSignatures: 'accepted' },
    create: () => ({
      rules: { keySecret: (fresh) => `:${fresh.slice(0, 8)}; ${fresh.slice(8, 24)}::+/${fresh.slice(24)}==` },
    }),
  },
  {
    id: 'key-secret-empty-beside-public-key',
    questions: ['keys/secret-of-public-key', 'keys/public-key-repeated'],
    about: 'A key with a public key has an empty secret, and no two keys have one public key.',
    profile: { repeatedPublicKeys: 'refused' },
    create: () => ({
      rules: { storedKey: (key) => (key.publicKey === undefined ? key : Object.assign(key, { secret: '' })) },
    }),
  },
  {
    id: 'key-names-of-24-characters',
    questions: ['keys/name-rules'],
    about: 'A key name has at most 24 characters.',
    create: () => ({
      rules: { paramTaken: refuseKeyParam('name', (name) => typeof name === 'string' && name.length > 24) },
    }),
  },
  {
    id: 'key-names-unique',
    questions: ['keys/name-rules', 'keys/limit-counts-initial'],
    about: 'No two keys have one name, and the initial key, named root, is one of the ten.',
    profile: { initialKeyCounts: true },
    create() {
      const held = holdContext()
      const isUsed = (name: unknown) =>
        [...held.get().state.keys.values()].some((key) => !key.deleted && key.name === name)
      return { around: held.around, rules: { paramTaken: refuseKeyParam('name', isUsed) } }
    },
  },
  {
    id: 'key-pem-exactly-as-shown',
    questions: ['keys/pem-variants', 'keys/public-key-repeated'],
    about: 'The lines of a PEM are joined by LF, without one at the end.',
    profile: { repeatedPublicKeys: 'refused' },
    create: () => ({
      rules: {
        publicKey: (pem, profile) =>
          typeof pem === 'string' && !pem.includes('\r') && pem.endsWith('-')
            ? referenceRules.publicKey(pem, profile)
            : undefined,
      },
    }),
  },
  {
    id: 'key-scope-within-creator-known-words-only',
    questions: ['keys/scope-above-creator', 'keys/unknown-scopes', 'keys/empty-scope'],
    about: 'A key makes keys within its own scope only, of known words, at least one.',
    profile: { keyScopeAboveCreator: 'refused', unknownKeyScopes: 'refused' },
    create: () => ({
      rules: { paramTaken: refuseKeyParam('scope', (scope) => Array.isArray(scope) && scope.length === 0) },
    }),
  },
  {
    id: 'key-scope-of-shown-words',
    questions: ['keys/unknown-scopes', 'scopes/apikey-spelling', 'keys/scope-above-creator'],
    about:
      'A key scope is made of the words of the examples, apikey is spelled so, and no key reaches beyond its creator.',
    profile: { unknownKeyScopes: 'all-but-shown-refused', apikeySpelling: 'apikey', keyScopeAboveCreator: 'refused' },
  },
  {
    id: 'keys-oldest-removed-initial-counted',
    questions: ['keys/limit-exceeded', 'keys/limit-counts-initial', 'keys/public-key-repeated'],
    about: 'Beside the initial key nine others fit; one more removes the oldest of them.',
    profile: { eleventhKey: 'oldest-removed', initialKeyCounts: true, repeatedPublicKeys: 'refused' },
  },
  {
    id: 'keys-deleting-frees-no-place',
    questions: ['keys/limit-frees', 'keys/limit-counts-initial'],
    about: 'At most ten keys can ever be created, the initial one not counted; a deleted key keeps its place.',
    create: () => ({ rules: { keysCounted: (all: ApiKey[]) => all.filter((key) => !key.initial).length } }),
  },
  {
    id: 'keys-refused-creations-counted',
    questions: ['keys/limit-counts-refused', 'keys/limit-exceeded'],
    about: 'A creation that an authorized caller makes with wrong params takes one of the ten places.',
    create() {
      const held = holdContext()
      const refused = createMemory(() => ({ creations: 0 }))
      return {
        around: chain(
          held.around,
          changeAnswers((answer, request, context) => {
            if (answer.body.includes('"code":-32602') && isMethod(request, createKey)) refused(context).creations += 1
            return answer
          }),
        ),
        rules: {
          keysCounted: (all, profile) => referenceRules.keysCounted(all, profile) + refused(held.get()).creations,
        },
      }
    },
  },
  {
    id: 'keys-weak-taken-unpadded-taken',
    questions: ['keys/small-order', 'signatures/weak-keys', 'signatures/base64-padding'],
    about: 'Small-order public keys are stored, and ED25519 signatures may come without padding.',
    profile: { weakPublicKeys: 'accepted', unpaddedSignatures: 'accepted' },
  },
  {
    id: 'basic-unpadded-any-case',
    questions: ['signatures/base64-padding', 'signatures/scheme-case'],
    about: 'Basic credentials may come without padding, and scheme words in any case.',
    profile: { schemeCase: 'any', unpaddedSignatures: 'accepted' },
    create: () => ({
      rules: {
        basicPair: (encoded) =>
          referenceRules.basicPair(
            encoded.includes('=') ? encoded : encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '='),
          ),
      },
    }),
  },
]
