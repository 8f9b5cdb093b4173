import { makeKey } from '../create-context.ts'
import { readPublicKey } from '../encoding.ts'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { ApiKey, Means } from '../state.ts'
import type { Mutant } from './mutant.ts'

const day = 86_400_000
const everyMeans: Means[] = ['hmac', 'ecc', 'basic', 'grant']

/** Accepts public keys other than ED25519 ones in PEM form. */
const alsoKeys = (limits: Parameters<typeof readPublicKey>[1]): Partial<Rules> => ({
  publicKey: (pem, profile) => rules.publicKey(pem, profile) ?? readPublicKey(pem, limits),
})
/** Accepts a missing or wrong param. */
const taking = (name: string, fits: (value: unknown) => boolean): Partial<Rules> => ({
  paramTaken: (method, param, value, valid) =>
    valid || (method === 'manager/createApiKey' && param === name && fits(value)),
})
const withResult = (change: (result: { id: string; secret: string }) => object): Partial<Rules> => ({
  createKeyResult: change,
})
const stored = (change: (key: ApiKey) => Partial<ApiKey>): Partial<Rules> => ({
  storedKey: (key) => ({ ...key, ...change(key) }),
})
const otherKey = (secret: string) => makeKey({ id: '', secret, name: '', scope: [], createdMs: 0 })

/** Parts 2 and 4.1, and part 8 where it is about keys. */
export const keyMutants: Mutant[] = [
  {
    id: 'initial-key-creates-no-keys',
    breaks: 'keys/initial-full-access',
    with: { initialKeyScope: () => rules.initialKeyScope().filter((scope) => scope !== 'apiKey') },
  },
  {
    id: 'initial-key-without-some-areas',
    breaks: 'keys/initial-full-access',
    with: { initialKeyScope: () => ['apiKey', 'solution', 'context'] },
  },
  {
    id: 'keys-end-after-30-days',
    breaks: 'keys/no-time-to-live',
    with: { keyExpired: (key, nowMs) => nowMs - key.createdMs > 30 * day },
  },
  {
    id: 'created-keys-end-after-300-days',
    breaks: 'keys/no-time-to-live',
    with: { keyExpired: (key, nowMs) => !key.initial && nowMs - key.createdMs > 300 * day },
  },
  ...everyMeans.flatMap((means): Mutant[] => [
    {
      id: `${means}-of-a-disabled-key-taken`,
      breaks: 'keys/can-be-disabled',
      with: { disabledKeyWorks: (_key, used) => used === means },
    },
    {
      id: `${means}-of-a-deleted-key-taken`,
      breaks: 'keys/can-be-deleted',
      with: { deletedKeyWorks: (_key, used) => used === means },
    },
  ]),
  {
    id: 'disabled-key-works-again-once-deleted',
    breaks: 'keys/can-be-disabled',
    with: { disabledKeyWorks: (key) => key.deleted, deletedKeyWorks: (key) => !key.enabled },
  },
  ...(['hmac', 'ecc', 'basic'] as const).map(
    (means): Mutant => ({
      id: `${means}-has-every-scope`,
      breaks: 'keys/scope-held',
      with: { keyScopeHolds: (used) => used !== means },
    }),
  ),
  { id: 'created-key-without-secret', breaks: 'keys/create-result', with: withResult(({ id }) => ({ id })) },
  { id: 'created-key-without-id', breaks: 'keys/create-result', with: withResult(({ secret }) => ({ secret })) },
  {
    id: 'created-key-with-a-number-as-id',
    breaks: 'keys/create-result',
    with: withResult(({ secret }) => ({ id: 7, secret })),
  },
  {
    id: 'created-key-with-null-as-secret',
    breaks: 'keys/create-result',
    with: withResult(({ id }) => ({ id, secret: null })),
  },
  {
    id: 'key-without-name-created',
    breaks: 'keys/create-params',
    with: taking('name', (value) => value === undefined),
  },
  {
    id: 'key-with-a-number-as-name-created',
    breaks: 'keys/create-params',
    with: taking('name', (value) => typeof value === 'number'),
  },
  {
    id: 'key-without-scope-created',
    breaks: 'keys/create-params',
    with: taking('scope', (value) => value === undefined),
  },
  {
    id: 'key-with-a-text-as-scope-created',
    breaks: 'keys/create-params',
    with: taking('scope', (value) => typeof value === 'string'),
  },
  {
    id: 'created-key-is-disabled',
    breaks: 'keys/created-key-works',
    with: stored(() => ({ enabled: false })),
  },
  {
    id: 'created-key-has-another-secret',
    breaks: 'keys/created-key-works',
    with: stored(({ publicKey }) => (publicKey === undefined ? { secret: 'x', macKey: otherKey('x').macKey } : {})),
  },
  {
    id: 'created-key-loses-its-scope',
    breaks: 'keys/created-key-works',
    with: stored(() => ({ scope: [] })),
  },
  {
    id: 'public-key-forgotten',
    breaks: 'keys/public-key',
    with: {
      storedKey: (key) => {
        const { publicKey: _pem, verifyKey: _key, ...rest } = key
        return rest
      },
    },
  },
  {
    id: 'public-key-never-read',
    breaks: 'keys/public-key',
    with: {
      storedKey: (key) => {
        const { verifyKey: _key, ...rest } = key
        return rest
      },
    },
  },
  { id: 'rsa-key-taken', breaks: 'keys/public-key-material', with: alsoKeys({ types: ['rsa'] }) },
  {
    id: 'other-curves-taken',
    breaks: 'keys/public-key-material',
    with: alsoKeys({ types: ['ec', 'x25519', 'ed448'] }),
  },
  {
    id: 'private-key-taken-as-public',
    breaks: 'keys/public-key-material',
    with: alsoKeys({ labels: ['PRIVATE KEY'] }),
  },
  {
    id: 'any-text-taken-as-public-key',
    breaks: 'keys/public-key-material',
    with: { badPublicKeyTaken: (pem) => typeof pem === 'string' },
  },
  { id: 'ids-of-keys-repeated', breaks: 'keys/unique-ids', with: { keyId: () => 'key' } },
  { id: 'secrets-of-keys-repeated', breaks: 'keys/unique-secrets', with: { keySecret: () => 'a-secret-for-everyone' } },
  {
    id: 'keys-created-with-any-scope',
    breaks: 'keys/apikey-scope',
    with: { scopeNeeded: (method) => method !== 'manager/createApiKey' },
  },
  {
    id: 'context-scope-creates-keys',
    breaks: 'keys/apikey-scope',
    with: { scopeOpens: (scope, area) => rules.scopeOpens(scope, area) || (scope === 'context' && area === 'manager') },
  },
  {
    id: 'scope-of-all-solutions-creates-keys',
    breaks: 'keys/apikey-scope',
    with: {
      scopeOpens: (scope, area) => rules.scopeOpens(scope, area) || (scope === 'solution:*' && area === 'manager'),
    },
  },
  {
    id: 'scope-of-one-solution-creates-keys',
    breaks: 'keys/apikey-scope',
    with: {
      scopeOpens: (scope, area) =>
        rules.scopeOpens(scope, area) || (/^solution:[^*]/.test(scope) && area === 'manager'),
    },
  },
]
