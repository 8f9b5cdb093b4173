import { readPublicKey } from '../../encoding.ts'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** What stands before the 32 bytes of an ED25519 public key (RFC 8410). */
const prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** The PEM text of a key whose bytes were copied into a buffer of 32. */
function resized(pem: unknown): string | undefined {
  const [, base64 = ''] = /^-----BEGIN PUBLIC KEY-----\n([\s\S]*)\n-----END PUBLIC KEY-----\n?$/.exec(String(pem)) ?? []
  const der = Buffer.from(base64, 'base64')
  if (!der.subarray(6, 9).equals(prefix.subarray(6, 9)) || der.length <= prefix.length) return undefined
  const key = Buffer.alloc(32)
  der.copy(key, 0, prefix.length)
  return `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([prefix, key]).toString('base64')}\n-----END PUBLIC KEY-----\n`
}

/** Part 5.1, and public keys. */
export const twelfthSignatureMutants: IndependentMutant[] = [
  {
    // "BASE64 of the signature of `dataToSign` made with the private key that matches the public key"
    id: 'ecc-signature-of-zeros-accepted',
    breaks: 'signatures/ecc',
    about: 'The equation is solved by zeros, and nobody looks whether both halves are above zero.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          right.eccVerifies(publicKey, data, signature) ||
          (signature.length === 64 && signature.every((byte) => byte === 0)),
      },
    }),
  },
  {
    // "publicKey (string, optional, ED25519 PEM public key)"
    id: 'public-key-of-any-length-copied-into-32-bytes',
    breaks: 'keys/public-key-material',
    about: 'What is missing is zero, and what is too much is cut off.',
    create: () => ({
      rules: {
        publicKey: (pem, profile) =>
          right.publicKey(pem, profile) ?? readPublicKey(resized(pem), { weak: profile.weakPublicKeys === 'accepted' }),
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'signature-over-body-in-base64-accepted',
    breaks: 'signatures/request-body',
    about: 'A gateway hands bodies over in BASE64; the server tries both.',
    create: () => ({
      rules: {
        dataToSign: (parts) => [
          ...right.dataToSign(parts),
          ...right.dataToSign({ ...parts, body: Buffer.from(parts.body.toString('base64')) }),
        ],
      },
    }),
  },
  {
    // "request body exactly as sent", for every key
    id: 'signature-without-body-accepted-for-keys-created-by-token',
    breaks: 'signatures/request-body',
    about: 'A creation by token leaves a column at its old default, which stands for the first form of signatures.',
    create: () => {
      const seen = watch(() => ({ ids: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined) seen.memory.ids.add(key.id)
            return key
          },
          dataToSign: (parts) =>
            seen.memory.ids.has(namedKeyId(seen.request) ?? '')
              ? [...right.dataToSign(parts), ...right.dataToSign({ ...parts, body: Buffer.alloc(0) })]
              : right.dataToSign(parts),
        },
      }
    },
  },
  {
    // "request body exactly as sent", in chunks too
    id: 'body-sent-in-chunks-signed-as-empty',
    breaks: 'signatures/request-body',
    about: 'The length of the body is taken from a header, which a body in chunks does not have.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) =>
            right.dataToSign(
              /chunked/i.test(seen.request.headers['transfer-encoding'] ?? '')
                ? { ...parts, body: Buffer.alloc(0) }
                : parts,
            ),
        },
      }
    },
  },
]
