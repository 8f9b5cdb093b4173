import { rules as right } from '../../rules.ts'
import { readMembers } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** The same JSON object with its members in the order of their names. */
const inOrderOfNames = (body: Buffer): Buffer => {
  const members = Object.entries(readMembers(body.toString('utf8')) ?? {})
  return Buffer.from(JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))))
}

/** Part 5.1: the header, and signatures of keys without a public key. */
export const eighthHmacMutants: IndependentMutant[] = [
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256"
    id: 'last-five-bytes-of-mac-not-compared',
    breaks: 'signatures/hmac',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) =>
          received.length === expected.length && received.slice(0, 20) === expected.slice(0, 20),
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'order-of-members-in-signed-body-ignored',
    breaks: 'signatures/request-body',
    about: 'The signature of the body whose members stand in the order of their names fits too.',
    create: () => ({
      rules: {
        dataToSign: (parts) =>
          [parts, { ...parts, body: inOrderOfNames(parts.body) }].flatMap((each) => right.dataToSign(each)),
      },
    }),
  },
  {
    // "fields separated by `;`; the second field is the literal `1`"
    id: 'header-without-version-accepted',
    breaks: 'signatures/version',
    create: () => ({
      rules: {
        headerFields: (credentials) => {
          const [id = '', ...others] = right.headerFields(credentials)
          return others.length === 3 ? [id, '1', ...others] : [id, ...others]
        },
      },
    }),
  },
  {
    // "The URI is `/api`."
    id: 'absolute-uri-accepted',
    breaks: 'signatures/request-uri',
    about: 'The signature of the whole URL, made with the Host header, fits too.',
    create: () => ({
      rules: {
        dataToSign: (parts) =>
          [parts, { ...parts, uri: `http://${parts.host}${parts.uri}` }].flatMap((each) => right.dataToSign(each)),
      },
    }),
  },
  {
    // "UPPERCASE(HTTP method)"
    id: 'method-in-lower-case-signed-by-narrow-key-accepted',
    breaks: 'signatures/request-method',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const isNarrow = callerOf(seen)?.scope.every((word) => word.toLowerCase() !== 'apikey') === true
            return [parts, ...(isNarrow ? [{ ...parts, httpMethod: 'post' }] : [])].flatMap(right.dataToSign)
          },
        },
      }
    },
  },
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256"
    id: 'mac-compared-up-to-its-first-zero-byte',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'The bytes are compared as texts that end at a zero byte.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => {
          const [shown, wanted] = [Buffer.from(received, 'base64'), Buffer.from(expected, 'base64')]
          const end = wanted.indexOf(0) + 1
          return end === 0
            ? right.macTextMatches(received, expected)
            : shown.subarray(0, end).equals(wanted.subarray(0, end))
        },
      },
    }),
  },
  {
    // "Callers prove their identity with an API key (by signature or by credentials)": the timestamp is that of the server
    id: 'created-key-cannot-sign-in-its-first-second',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'A timestamp must lie behind the second in which the key was created.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          timestampTaken: (timestamp, nowMs, profile) => {
            const key = callerOf(seen)
            const isEarly =
              key?.initial === false && Math.floor(Number(timestamp) / 1000) <= Math.floor(key.createdMs / 1000)
            return !isEarly && right.timestampTaken(timestamp, nowMs, profile)
          },
        },
      }
    },
  },
]
