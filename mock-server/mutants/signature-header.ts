import { createHmac, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { ApiKey } from '../state.ts'
import { sha256 } from './bytes.ts'
import type { Mutant } from './mutant.ts'

/** An ED25519 public key whose seed is made of a secret. */
function keyOfSeed(seed: Buffer): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** Accepts HMACs for keys with a public key, made with something other than their secret. */
function forPublicKeys(secret: (key: ApiKey) => string | Buffer): Partial<Rules> {
  return {
    hmacTakenFor: () => true,
    mac: (data, key) =>
      key.publicKey === undefined ? rules.mac(data, key) : createHmac('sha256', secret(key)).update(data).digest(),
  }
}

/** Accepts the beginning of an id in signatures of some keys. */
const longerId = (named: (key: ApiKey) => boolean): Partial<Rules> => ({
  keyNamed: (id, find, all, means) =>
    find(id) ?? (means === 'hmac' ? all().find((key) => named(key) && id.startsWith(key.id)) : undefined),
})

/** Part 5.1: the header, and which key takes which kind of signature. */
export const signatureHeaderMutants: Mutant[] = [
  { id: 'sixth-field-ignored', breaks: 'signatures/header-exact', with: { fieldCountTaken: (count) => count >= 5 } },
  ...[',', ':'].map(
    (separator): Mutant => ({
      id: separator === ',' ? 'commas-separate-fields-too' : 'colons-separate-fields-too',
      breaks: 'signatures/header-exact',
      with: { headerFields: (credentials) => credentials.replaceAll(separator, ';').split(';') },
    }),
  ),
  {
    id: 'version-may-be-left-out',
    breaks: 'signatures/header-fields',
    with: {
      headerFields: (credentials) => {
        const fields = credentials.split(';')
        return fields.length === 4 ? [fields[0] ?? '', '1', ...fields.slice(1)] : fields
      },
    },
  },
  { id: 'any-version-taken', breaks: 'signatures/version', with: { versionTaken: () => true } },
  {
    id: 'version-may-be-empty',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => version === '1' || version === '' },
  },
  {
    id: 'version-compared-as-a-number',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => Number(version) === 1 },
  },
  {
    id: 'version-that-begins-with-1-taken',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => version.startsWith('1') },
  },
  {
    id: 'mac-by-any-secret',
    breaks: 'signatures/key-id',
    with: { signingKeys: (key, all, kind) => (kind === 'hmac' ? all() : [key]) },
  },
  {
    id: 'unknown-key-id-is-the-first-key',
    breaks: 'signatures/key-id',
    with: { keyNamed: (id, find, all, means) => find(id) ?? (means === 'hmac' ? all()[0] : undefined) },
  },
  {
    id: 'version-compared-as-a-number-for-ecc',
    breaks: 'signatures/version',
    with: {
      headerFields: (credentials) => {
        const [id = '', version, ...rest] = rules.headerFields(credentials)
        const ecc = Buffer.from(rest[2] ?? '', 'base64').length === 64
        return [id, ecc && Number(version) === 1 ? '1' : (version ?? ''), ...rest]
      },
    },
  },
  {
    id: 'key-id-with-more-behind-it-taken',
    breaks: 'signatures/key-id',
    with: longerId(() => true),
  },
  {
    id: 'id-of-a-public-key-with-more-behind-it-taken',
    breaks: 'signatures/key-id',
    with: longerId(({ publicKey }) => publicKey !== undefined),
  },
  {
    id: 'any-scheme-word-taken',
    breaks: 'signatures/scheme',
    with: {
      schemeTaken: (word, expected, profile) =>
        expected === profile.scheme || rules.schemeTaken(word, expected, profile),
    },
  },
  {
    id: 'longer-scheme-word-taken',
    breaks: 'signatures/scheme',
    with: { schemeTaken: (word, expected) => word.startsWith(expected) },
  },
  {
    id: 'hmac-for-public-keys-too',
    breaks: 'signatures/public-key-refuses-hmac',
    with: { hmacTakenFor: () => true },
  },
  {
    id: 'hmac-with-an-empty-secret-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys(() => ''),
  },
  {
    id: 'hmac-with-the-pem-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.publicKey ?? ''),
  },
  {
    id: 'hmac-with-the-public-key-itself',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.verifyKey?.export({ type: 'spki', format: 'der' }).subarray(-32) ?? ''),
  },
  {
    id: 'hmac-with-the-id-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.id),
  },
  {
    id: 'hmac-with-any-secret-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: {
      hmacTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'hmac' && key.publicKey !== undefined ? all() : [key]),
    },
  },
  {
    id: 'ecc-of-any-key-for-secret-keys',
    breaks: 'signatures/secret-key-refuses-ecc',
    with: {
      eccTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'ecc' && key.publicKey === undefined ? all() : [key]),
    },
  },
  {
    id: 'ecc-with-a-seed-made-of-the-secret',
    breaks: 'signatures/secret-key-refuses-ecc',
    with: {
      eccTakenFor: () => true,
      signingKeys: (key, _all, kind) =>
        kind === 'ecc' && key.publicKey === undefined ? [{ ...key, verifyKey: keyOfSeed(sha256(key.secret)) }] : [key],
    },
  },
]
