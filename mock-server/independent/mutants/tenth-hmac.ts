import { makeKey } from '../../create-context.ts'
import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, meet } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** The fields of a signature: key id, version, timestamp, nonce and MAC. */
const signedFields = (header = ''): string[] =>
  header.includes(';') ? header.slice(header.indexOf(' ') + 1).split(';') : []

/** Part 5.1, for keys without a public key. */
export const tenthHmacMutants: IndependentMutant[] = [
  {
    // "HMAC signature length | first 20 bytes of the HMAC-SHA256 output"
    id: 'mac-cut-to-96-bits-accepted',
    breaks: 'signatures/hmac-length',
    about: 'A MAC of twelve bytes passes too, as in IPsec.',
    create: () => ({
      rules: {
        macTexts: (bytes, mac, profile) => [
          ...right.macTexts(bytes, mac, profile),
          mac.subarray(0, 12).toString('base64'),
        ],
      },
    }),
  },
  {
    // "HMAC-SHA256 computed with the API key secret over `dataToSign`": the secret alone
    id: 'mac-by-secret-with-line-feed-accepted',
    breaks: 'signatures/hmac',
    about: 'For clients that read the secret from a file together with the end of its line.',
    create: () => ({
      rules: {
        signingKeys: (key, _all, kind) =>
          kind === 'ecc' ? [key] : [key, makeKey({ ...key, secret: `${key.secret}\n` })],
      },
    }),
  },
  {
    // "request body exactly as sent": that of this request
    id: 'signed-calls-in-flight-share-their-body',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'The body is kept in a field of the one verifier.',
    create: () => {
      const seen = watch((): { body: Buffer } => ({ body: Buffer.alloc(0) }))
      const wait: Around = (handle) => (request) => {
        if (signedFields(request.headers.authorization).length === 0) return handle(request)
        seen.memory.body = request.body
        return meet().then(() => handle(request))
      }
      return {
        around: chain(seen.around, wait),
        rules: { dataToSign: (parts) => right.dataToSign({ ...parts, body: seen.memory.body }) },
      }
    },
  },
  {
    // "dataToSign = `<timestamp>;<nonce>;<requestData>`", with the timestamp of the header
    id: 'timestamp-of-last-signature-of-key-signed-too',
    breaks: 'signatures/timestamp',
    needsState: true,
    about: 'The signed data may begin with the timestamp of the last accepted call, whatever the header shows.',
    create: () => {
      const seen = watch(() => ({ lastOf: new Map<string, string>() }))
      const note = answerThrough((answer, request) => {
        const [keyId, , timestamp] = signedFields(request.headers.authorization)
        const { lastOf } = seen.memory
        if (keyId !== undefined && timestamp !== undefined && isAccepted(answer)) lastOf.set(keyId, timestamp)
        return answer
      })
      return {
        around: chain(seen.around, note),
        rules: {
          dataToSign: (parts) => {
            const key = callerOf(seen)
            const timestamp = key?.publicKey === undefined ? seen.memory.lastOf.get(key?.id ?? '') : undefined
            return timestamp === undefined
              ? right.dataToSign(parts)
              : [...right.dataToSign(parts), ...right.dataToSign({ ...parts, timestamp })]
          },
        },
      }
    },
  },
]
