import { createPublicKey, type KeyObject } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { paramsOf, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** A binary search, which finds entries only in a sorted list. */
function isFoundInHalves(list: string[], entry: string): boolean {
  let [from, to] = [0, list.length - 1]
  while (from <= to) {
    const middle = (from + to) >> 1
    const found = list[middle] ?? ''
    if (found === entry) return true
    if (found < entry) from = middle + 1
    else to = middle - 1
  }
  return false
}

/** The same point without the bit that says which of two values its x has. */
function withoutSign(key: KeyObject): KeyObject {
  const point = key.export({ type: 'spki', format: 'der' }).subarray(-32)
  point[31] = (point[31] ?? 0) & 0x7f
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }, format: 'jwk' })
}

/** Parts 2, 4.1 and 8: creating keys, their public keys and their number. */
export const thirdKeyMutants: IndependentMutant[] = [
  {
    // "Callers prove their identity with an API key (by signature or by credentials) or with an access token obtained from an API key"
    id: 'key-created-by-refreshed-token-gets-no-grant',
    breaks: 'keys/created-key-works',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined && seen.pair.generation > 0) seen.memory.keys.add(key.id)
            return key
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) && !(means === 'grant' && seen.memory.keys.has(key.id)),
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created"
    id: 'keys-counted-for-each-scope',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keysCounted: (all, profile) => {
            const wanted = scopeOf(seen.request).join(' ')
            return right.keysCounted(
              all.filter(({ scope }) => scope.join(' ') === wanted),
              profile,
            )
          },
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created"
    id: 'repeated-public-key-takes-no-place',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => ({
      rules: {
        keysCounted: (all, profile) =>
          right.keysCounted([...new Map(all.map((key) => [key.publicKey ?? key.id, key])).values()], profile),
      },
    }),
  },
  {
    // "A key has a scope (a list of scope strings)": in any order
    id: 'scope-of-key-searched-as-if-sorted',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'A grant looks for its scopes in that of the key with a binary search.',
    create: () => ({
      rules: {
        initialKeyScope: () => right.initialKeyScope().sort(),
        scopeWithinKey: (scope, keyScope) => isFoundInHalves(keyScope, scope),
      },
    }),
  },
  {
    // "publicKey | createApiKey params | string | no": wherever it stands among the params
    id: 'public-key-as-first-param-forgotten',
    breaks: 'keys/public-key',
    needsState: true,
    about: 'The record of the key is made when its name is read, which overwrites what came before it.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (Object.keys(paramsOf(seen.request))[0] !== 'publicKey') return key
            const { publicKey: _publicKey, verifyKey: _verifyKey, ...plain }: ApiKey = key
            return plain
          },
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created", so that ten can
    id: 'key-made-by-created-key-takes-two-places',
    breaks: 'limits/ten-can-be-made',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = seen.pair?.key ?? seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
            if (creator?.initial === false) seen.memory.keys.add(key.id)
            return key
          },
          keysCounted: (all, profile) =>
            right.keysCounted(
              all.flatMap((key) => (seen.memory.keys.has(key.id) ? [key, key] : [key])),
              profile,
            ),
        },
      }
    },
  },
  {
    // "The scope `apikey` appears in the scope lists used with this method"
    id: 'key-with-public-key-created-without-apikey-scope',
    breaks: 'keys/apikey-scope',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeNeeded: (method) => method !== 'manager/createApiKey' || paramsOf(seen.request).publicKey === undefined,
        },
      }
    },
  },
  {
    // "BASE64 of the signature of dataToSign made with the private key that matches the public key"
    id: 'public-key-read-without-its-highest-bit',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'Half of all public keys have this bit; what they sign is refused.',
    create: () => ({
      rules: {
        publicKey: (pem, profile) => {
          const key = right.publicKey(pem, profile)
          return key?.asymmetricKeyType === 'ed25519' ? withoutSign(key) : key
        },
      },
    }),
  },
  {
    // The result of createApiKey: "id | Identifier of the key", with which every call may be signed
    id: 'created-key-known-on-connection-of-its-creation-only',
    breaks: 'keys/created-key-works',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const { connection } = seen.request
            if (connection !== undefined) seen.memory.connections.set(key.id, connection)
            return key
          },
          keyNamed: (id, find) => {
            const { connection } = seen.request
            const own = seen.memory.connections.get(id)
            return own === undefined || connection === undefined || own === connection ? find(id) : undefined
          },
        },
      }
    },
  },
]
