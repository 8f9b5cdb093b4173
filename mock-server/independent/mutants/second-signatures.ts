import { createHmac, type KeyObject } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const timestampOf = (authorization = '') => authorization.split(';')[2] ?? ''

/** Part 5.1. */
export const secondSignatureMutants: IndependentMutant[] = [
  {
    // "request body exactly as sent"
    id: 'signature-once-accepted-fits-any-body',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'Accepted signatures are kept in a cache whose key is the signature alone.',
    create: () => {
      const seen = watch(() => ({ accepted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            const { accepted } = seen.memory
            if (right.macTextMatches(received, expected)) accepted.add(received)
            return accepted.has(received)
          },
        },
      }
    },
  },
  {
    // "HMAC-SHA256 computed with the API key secret over `dataToSign`"
    id: 'signature-checked-once-per-key-and-millisecond',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'Accepted signatures are kept in a cache whose key is the key id and the timestamp.',
    create: () => {
      const seen = watch(() => ({ accepted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            const { accepted } = seen.memory
            const place = `${namedKeyId(seen.request)};${timestampOf(seen.request.headers.authorization)}`
            if (right.macTextMatches(received, expected)) accepted.add(place)
            return accepted.has(place)
          },
        },
      }
    },
  },
  {
    // "HMAC-SHA256 computed with the API key secret over `dataToSign`"
    id: 'later-signatures-on-connection-need-no-mac',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'Once a key has signed on a connection, its id is enough there.',
    create: () => {
      const seen = watch(() => ({ proven: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            const { connection } = seen.request
            const isRight = right.macTextMatches(received, expected)
            if (connection === undefined) return isRight
            const place = `${connection} ${namedKeyId(seen.request)}`
            if (isRight) seen.memory.proven.add(place)
            return seen.memory.proven.has(place)
          },
        },
      }
    },
  },
  {
    // "computed with the API key secret", and the header names `<api_key_id>`
    id: 'keys-of-one-name-share-a-signing-key',
    breaks: 'signatures/key-id',
    needsState: true,
    about: 'Prepared signing keys are kept by the name of the API key, which is only a label.',
    create: () => ({
      rules: {
        signingKeys: (key, all) => [
          all().find(
            (one) => one.name === key.name && (one.publicKey === undefined) === (key.publicKey === undefined),
          ) ?? key,
        ],
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'rest-of-longer-body-before-it-is-signed-too',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'The buffer of a connection is not emptied, so a shorter body is verified with the end of the one before.',
    create: () => {
      const seen = watch(() => ({ buffers: new Map<number, Buffer>() }))
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const { connection } = seen.request
            if (connection === undefined) return right.dataToSign(parts)
            const rest = seen.memory.buffers.get(connection)?.subarray(parts.body.length) ?? Buffer.alloc(0)
            const body = Buffer.concat([parts.body, rest])
            seen.memory.buffers.set(connection, body)
            return right.dataToSign({ ...parts, body })
          },
        },
      }
    },
  },
  {
    // "request body exactly as sent"
    id: 'body-composed-to-nfc-before-verification',
    breaks: 'signatures/request-body',
    about: 'A letter and its accent become one character before the signature is verified.',
    create: () => ({
      rules: {
        dataToSign: (parts) =>
          right.dataToSign({ ...parts, body: Buffer.from(parts.body.toString('utf8').normalize('NFC')) }),
      },
    }),
  },
  {
    // "The nonce in the signed data and in the header is the same value"
    id: 'plus-in-nonce-read-as-space',
    breaks: 'signatures/nonce',
    about: 'The header is decoded as a form is, so a BASE64 nonce with a plus sign is refused.',
    create: () => ({
      rules: { dataToSign: (parts) => right.dataToSign({ ...parts, nonce: parts.nonce.replaceAll('+', ' ') }) },
    }),
  },
  {
    // "the second field is the literal `1`"
    id: 'version-of-ecc-signature-not-checked',
    breaks: 'signatures/version',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          versionTaken: (version) =>
            right.versionTaken(version) ||
            seen.context.state.keys.get(namedKeyId(seen.request) ?? '')?.publicKey !== undefined,
        },
      }
    },
  },
  {
    // "request body exactly as sent"
    id: 'ecc-signature-covers-first-4-kib',
    breaks: 'signatures/request-body',
    about: 'ECC signatures are verified over the first 4096 bytes of the body, HMACs over all of it.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const key = seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
            return right.dataToSign(key?.publicKey ? { ...parts, body: parts.body.subarray(0, 4096) } : parts)
          },
        },
      }
    },
  },
  {
    // "made with the private key that matches the public key"
    id: 'parsed-public-keys-cached-by-first-line',
    breaks: 'keys/public-key',
    needsState: true,
    about: 'The first line of every PEM is the same, so each later public key is taken for the first one.',
    create: () => {
      const seen = watch((): { parsed?: KeyObject } => ({}))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (key.verifyKey === undefined) return key
            seen.memory.parsed ??= key.verifyKey
            return { ...key, verifyKey: seen.memory.parsed }
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'caller-found-by-public-key',
    breaks: 'signatures/key-id',
    needsState: true,
    about: 'Of two keys with one public key, the first one is the caller, whichever the header names.',
    create: () => ({
      rules: {
        keyNamed: (id, find, all) => {
          const key = find(id)
          return key?.publicKey === undefined ? key : all().find((one) => one.publicKey === key.publicKey)
        },
      },
    }),
  },
  {
    // "then only ECC signatures may be used with it"
    id: 'public-key-created-by-token-takes-hmac',
    breaks: 'signatures/public-key-refuses-hmac',
    needsState: true,
    about: 'A key with a public key takes HMAC signatures if an access token authorized its creation.',
    create: () => {
      const seen = watch(() => ({ byToken: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (namedKeyId(seen.request) === undefined) seen.memory.byToken.add(key.id)
            return key
          },
          hmacTakenFor: (key) => right.hmacTakenFor(key) || seen.memory.byToken.has(key.id),
        },
      }
    },
  },
  {
    // "Callers prove their identity with an API key (by signature or by credentials)"
    id: 'ninth-signing-key-pushes-first-one-out',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'Eight HMAC keys are kept; the signatures of one that was dropped are refused from then on.',
    create: () => {
      const seen = watch(() => ({ signers: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          mac: (data, key) => {
            const { signers } = seen.memory
            signers.add(key.id)
            const place = [...signers].indexOf(key.id)
            return place < signers.size - 8 ? createHmac('sha256', '').update(data).digest() : right.mac(data, key)
          },
        },
      }
    },
  },
]
