import { createHash, createPublicKey } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 2 and 4.1: the creation of keys, their use, and their end. */
export const keyMutants: IndependentMutant[] = [
  {
    id: 'key-creation-spends-refresh-token',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'A refresh token is refused after its access token has created a key.',
    create: () => {
      const seen = watch(() => ({ spent: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair) seen.memory.spent.add(seen.pair.id)
            return key
          },
          issuedTokenWorks: (kind, pair) => kind === 'access' || !seen.memory.spent.has(pair.id),
        },
      }
    },
  },
  {
    id: 'key-ends-with-token-that-created-it',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    about: 'A key created with an access token works until that token is revoked or expires.',
    create: () => {
      const seen = watch(() => ({ parents: new Map<string, TokenPair>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair) seen.memory.parents.set(key.id, seen.pair)
            return key
          },
          keyExpired: (key, nowMs) => {
            const parent = seen.memory.parents.get(key.id)
            return parent !== undefined && (parent.accessRevoked || nowMs >= parent.accessExpiryMs)
          },
        },
      }
    },
  },
  {
    id: 'public-key-expires-after-ninety-days',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    create: () => ({
      rules: { keyExpired: (key, nowMs) => key.publicKey !== undefined && nowMs - key.createdMs > 90 * 86_400_000 },
    }),
  },
  {
    id: 'unused-key-expires-after-thirty-days',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ usedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          keyExpired: (key, nowMs) => {
            const { usedMs } = seen.memory
            const lastUsedMs = usedMs.get(key.id) ?? key.createdMs
            if (!key.initial && nowMs - lastUsedMs > 30 * 86_400_000) return true
            usedMs.set(key.id, nowMs)
            return false
          },
        },
      }
    },
  },
  {
    id: 'tenth-key-does-not-work',
    breaks: 'keys/created-key-works',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const live = [...seen.context.state.keys.values()].filter((one) => !one.deleted && !one.initial)
            return live.length === 9 ? { ...key, enabled: false } : key
          },
        },
      }
    },
  },
  {
    id: 'keys-of-same-second-share-secret',
    breaks: 'keys/unique-secrets',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keySecret: (fresh) =>
            createHash('sha256')
              .update(`${seen.context.root.secret} ${Math.floor(seen.nowMs / 1000)}`)
              .digest('hex')
              .slice(0, fresh.length),
        },
      }
    },
  },
  {
    id: 'sixth-key-has-secret-of-first',
    breaks: 'keys/unique-secrets',
    needsState: true,
    about: 'Secrets come from a pool of five that is used round and round.',
    create: () => {
      const seen = watch(() => ({ made: 0, pool: [] as string[] }))
      return {
        around: seen.around,
        rules: {
          keySecret: (fresh) => {
            const { memory } = seen
            const index = memory.made % 5
            memory.made += 1
            const secret = memory.pool[index] ?? fresh
            memory.pool[index] = secret
            return secret
          },
        },
      }
    },
  },
  {
    id: 'secret-missing-for-key-with-public-key',
    breaks: 'keys/create-result',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { createKeyResult: (result) => (seen.bodyHas('BEGIN PUBLIC KEY') ? { id: result.id } : result) },
      }
    },
  },
  {
    id: 'numbers-in-scope-skipped-on-key-creation',
    breaks: 'keys/create-params',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/createApiKey' && name === 'scope' && Array.isArray(value) && value.length > 1),
      },
    }),
  },
  {
    id: 'private-key-taken-for-public-key',
    breaks: 'keys/public-key-material',
    about: 'createPublicKey of node:crypto also derives a public key from the PEM of a private key.',
    create: () => ({
      rules: {
        publicKey: (pem, profile) => {
          if (typeof pem !== 'string' || !pem.includes('BEGIN PRIVATE KEY')) return right.publicKey(pem, profile)
          try {
            const key = createPublicKey(pem)
            return key.asymmetricKeyType === 'ed25519' ? key : undefined
          } catch {
            return undefined
          }
        },
      },
    }),
  },
  {
    id: 'x25519-public-key-taken',
    breaks: 'keys/public-key-material',
    create: () => ({
      rules: {
        badPublicKeyTaken: (pem) => {
          try {
            return typeof pem === 'string' && createPublicKey(pem).asymmetricKeyType === 'x25519'
          } catch {
            return false
          }
        },
      },
    }),
  },
  {
    id: 'empty-public-key-means-none',
    breaks: 'keys/public-key-material',
    create: () => ({
      rules: {
        badPublicKeyTaken: (pem) => pem === '',
        storedKey: ({ publicKey, ...key }) =>
          publicKey === '' || publicKey === undefined ? key : { ...key, publicKey },
      },
    }),
  },
  {
    id: 'public-key-without-final-line-feed-refused',
    breaks: 'keys/public-key',
    about: 'The document joins the lines by LF, so the last line ends without one.',
    create: () => ({
      rules: {
        publicKey: (pem, profile) =>
          typeof pem === 'string' && pem.endsWith('\n') ? right.publicKey(pem, profile) : undefined,
      },
    }),
  },
  {
    id: 'disabled-key-creates-keys',
    breaks: 'keys/can-be-disabled',
    about: 'manager/createApiKey does not look at the state of the key behind a call.',
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { disabledKeyWorks: () => seen.bodyHas('manager/createApiKey') } }
    },
  },
  {
    id: 'deleted-key-signs-with-ecc',
    breaks: 'keys/can-be-deleted',
    create: () => ({ rules: { deletedKeyWorks: (_key, means) => means === 'ecc' } }),
  },
  {
    id: 'keys-of-same-millisecond-share-id',
    breaks: 'keys/unique-ids',
    needsState: true,
    about: 'The id of a key is made from the time of its creation.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keyId: (fresh) => createHash('sha256').update(`${seen.nowMs}`).digest('hex').slice(0, fresh.length),
        },
      }
    },
  },
]
