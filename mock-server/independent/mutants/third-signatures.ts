import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Bytes of a text in which each half of a surrogate pair is encoded by itself. */
function bytesOfUnits(text: string): Buffer {
  const ofHalf = (half: number) => [0xed, 0x80 | ((half >> 6) & 0x3f), 0x80 | (half & 0x3f)]
  return Buffer.concat(
    [...text].map((letter) =>
      letter.length === 1
        ? Buffer.from(letter)
        : Buffer.from([...ofHalf(letter.charCodeAt(0)), ...ofHalf(letter.charCodeAt(1))]),
    ),
  )
}

/** Part 5.1: signatures. */
export const thirdSignatureMutants: IndependentMutant[] = [
  {
    // "request body exactly as sent"
    id: 'emoji-in-body-signed-as-two-surrogates',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'Letters beyond 16 bits are put into the signed data as two encoded halves.',
    create: () => ({
      rules: {
        dataToSign: (parts) => right.dataToSign({ ...parts, body: bytesOfUnits(parts.body.toString('utf8')) }),
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'dollar-patterns-in-body-replaced-before-signing',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'The body is put into a template with a text replacement, in which "$$" and "$&" have a meaning.',
    create: () => ({
      rules: {
        dataToSign: (parts) => {
          const body = Buffer.from('#'.replace('#', parts.body.toString('latin1')), 'latin1')
          return right.dataToSign({ ...parts, body })
        },
      },
    }),
  },
  {
    // "Build dataToSign = <timestamp>;<nonce>;<requestData>", "request body exactly as sent"
    id: 'doubled-slashes-in-signed-data-collapsed',
    breaks: 'signatures/data-to-sign',
    needsState: true,
    about: 'The path is tidied after the signed data was put together.',
    create: () => ({
      rules: {
        dataToSign: (parts) =>
          right.dataToSign(parts).map((data) =>
            Buffer.from(
              Buffer.from(data)
                .toString('latin1')
                .replaceAll(/\/{2,}/g, '/'),
              'latin1',
            ),
          ),
      },
    }),
  },
  {
    // "BASE64 of the signature of dataToSign made with the private key that matches the public key"
    id: 'public-key-of-first-ecc-call-holds-for-connection',
    breaks: 'signatures/ecc',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Map<number, ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          signingKeys: (key, _all, kind) => {
            const { connection } = seen.request
            if (kind !== 'ecc' || connection === undefined) return [key]
            const first = seen.memory.keys.get(connection) ?? key
            seen.memory.keys.set(connection, first)
            return [first]
          },
        },
      }
    },
  },
  {
    // "an ED25519 PEM-encoded public key (then only ECC signatures may be used with it)"
    id: 'hmac-for-public-key-accepted-behind-other-hmac-on-connection',
    breaks: 'signatures/public-key-refuses-hmac',
    needsState: true,
    about: 'The kind of signature is decided at the first signed call of a connection.',
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          hmacTakenFor: (key) => {
            const { connection } = seen.request
            const taken = right.hmacTakenFor(key)
            if (connection === undefined) return taken
            if (taken) seen.memory.connections.add(connection)
            return seen.memory.connections.has(connection)
          },
        },
      }
    },
  },
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256"
    id: 'mac-with-leading-zero-byte-refused',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'The MAC is kept as a number, which loses zeros at its beginning.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => Buffer.from(expected, 'base64')[0] !== 0 && received === expected,
      },
    }),
  },
  {
    // "HMAC-SHA256 computed with the API key secret over dataToSign"
    id: 'wrong-signature-accepted-when-sent-again',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'A header is stored as checked before the outcome of the check is known.',
    create: () => {
      const seen = watch(() => ({ refused: new Set<string>() }))
      const isKnown = () => seen.memory.refused.has(seen.request.headers.authorization ?? '')
      return {
        around: chain(
          seen.around,
          answerThrough((answer, { headers }) => {
            if (headers.authorization?.includes(';') && !isAccepted(answer))
              seen.memory.refused.add(headers.authorization)
            return answer
          }),
        ),
        rules: {
          usedNonceTaken: (profile) => isKnown() || right.usedNonceTaken(profile),
          macTextMatches: (received, expected) => isKnown() || right.macTextMatches(received, expected),
        },
      }
    },
  },
  {
    // "the second field is the literal 1"
    id: 'version-not-checked-on-later-calls-of-connection',
    breaks: 'signatures/version',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          versionTaken: (version) => {
            const { connection } = seen.request
            const taken = right.versionTaken(version)
            if (connection === undefined) return taken
            if (taken) seen.memory.connections.add(connection)
            return seen.memory.connections.has(connection)
          },
        },
      }
    },
  },
  {
    // "HMAC-SHA256 computed with the API key secret": that of the key that the header names
    id: 'secret-of-creator-signs-for-created-key',
    breaks: 'signatures/hmac',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = seen.pair?.key ?? seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
            if (creator !== undefined) seen.memory.creators.set(key.id, creator)
            return key
          },
          signingKeys: (key, _all, kind) => {
            const creator = kind === 'hmac' ? seen.memory.creators.get(key.id) : undefined
            return creator === undefined ? [key] : [key, creator]
          },
        },
      }
    },
  },
  {
    // "request body exactly as sent"
    id: 'body-above-512-bytes-cached-by-its-length',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'The signed data of a body is that of the first long body with the same length.',
    create: () => {
      const seen = watch(() => ({ bodies: new Map<number, Buffer>() }))
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const { bodies } = seen.memory
            if (parts.body.length <= 512) return right.dataToSign(parts)
            const body = bodies.get(parts.body.length) ?? parts.body
            bodies.set(body.length, body)
            return right.dataToSign({ ...parts, body })
          },
        },
      }
    },
  },
  {
    // "Authorization: svc-hmac-sha256 <api_key_id>;…": the signature is that of the named key
    id: 'keys-of-same-scope-sign-for-each-other',
    breaks: 'signatures/key-id',
    needsState: true,
    about: 'The secrets are looked up by the permissions of a key.',
    create: () => ({
      rules: {
        signingKeys: (key, all, kind) =>
          kind === 'ecc'
            ? [key]
            : all().filter(
                ({ deleted, publicKey, scope }) =>
                  !deleted && publicKey === undefined && scope.join(' ') === key.scope.join(' '),
              ),
      },
    }),
  },
  {
    // "BASE64 of the first 20 bytes"
    id: 'percent-encoded-mac-accepted',
    breaks: 'signatures/hmac-encoding',
    create: () => ({
      rules: {
        macTexts: (bytes, mac, profile) =>
          right.macTexts(bytes, mac, profile).flatMap((text) => [text, encodeURIComponent(text)]),
      },
    }),
  },
]
