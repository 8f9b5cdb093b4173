import type { SignedParts } from '../../rules.ts'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** The text to sign, made as the document says from parts that may be changed. */
const signed = (parts: SignedParts, changed: Partial<SignedParts> = {}) =>
  right.dataToSign({ ...parts, ...changed })[0] ?? Buffer.alloc(0)

/** A server that also takes a signature made over changed parts. */
const alsoTakes = (change: (parts: SignedParts) => Partial<SignedParts>): ReturnType<IndependentMutant['create']> => ({
  rules: { dataToSign: (parts) => [signed(parts), signed(parts, change(parts))] },
})

/** A server that takes only signatures made over changed parts. */
const takesOnly = (change: (parts: SignedParts) => Partial<SignedParts>): ReturnType<IndependentMutant['create']> => ({
  rules: { dataToSign: (parts) => [signed(parts, change(parts))] },
})

/** Part 5.1: what is signed. */
export const signedDataMutants: IndependentMutant[] = [
  {
    id: 'body-behind-64-kib-not-covered',
    breaks: 'signatures/request-body',
    about: 'A signature over the first 65536 bytes of a longer body is accepted.',
    create: () => ({
      rules: {
        dataToSign: (parts) => {
          const first = parts.body.subarray(0, 65536)
          return first.length === parts.body.length ? [signed(parts)] : [signed(parts), signed(parts, { body: first })]
        },
      },
    }),
  },
  {
    id: 'white-space-around-body-not-covered',
    breaks: 'signatures/request-body',
    create: () => takesOnly(({ body }) => ({ body: Buffer.from(body.toString().trim()) })),
  },
  {
    id: 'body-signed-as-latin1',
    breaks: 'signatures/request-body',
    about: 'A signed body with other characters than ASCII is refused.',
    create: () => takesOnly(({ body }) => ({ body: Buffer.from(body.toString('latin1'), 'utf8') })),
  },
  {
    id: 'body-signed-with-lf-for-crlf',
    breaks: 'signatures/request-body',
    create: () => takesOnly(({ body }) => ({ body: Buffer.from(body.toString().replaceAll('\r\n', '\n')) })),
  },
  {
    id: 'body-signed-in-composed-form',
    breaks: 'signatures/request-body',
    about: 'Unicode is normalised before the MAC, so a body with a combining accent is refused.',
    create: () => takesOnly(({ body }) => ({ body: Buffer.from(body.toString().normalize('NFC')) })),
  },
  {
    id: 'body-signed-without-escapes-accepted',
    breaks: 'signatures/request-body',
    about: 'A signature over the parsed and written again body is accepted when the body has escaped characters.',
    create: () =>
      alsoTakes(({ body }) => {
        if (!body.includes('\\u')) return {}
        try {
          return { body: Buffer.from(JSON.stringify(JSON.parse(body.toString()))) }
        } catch {
          return {}
        }
      }),
  },
  {
    id: 'params-of-key-creation-not-covered',
    breaks: 'signatures/request-body',
    about: 'For manager/createApiKey a signature over the body with empty params is accepted too.',
    create: () =>
      alsoTakes(({ body }) => {
        try {
          const call = JSON.parse(body.toString())
          return call.method === 'manager/createApiKey'
            ? { body: Buffer.from(JSON.stringify({ ...call, params: {} })) }
            : {}
        } catch {
          return {}
        }
      }),
  },
  {
    id: 'milliseconds-of-timestamp-not-covered',
    breaks: 'signatures/timestamp',
    about: 'A signature over the full second fits every timestamp within this second.',
    needsState: true,
    create: () => alsoTakes(({ timestamp }) => ({ timestamp: `${timestamp.slice(0, -3)}000` })),
  },
  {
    id: 'nonce-signed-in-lower-case-accepted',
    breaks: 'signatures/nonce',
    create: () => alsoTakes(({ nonce }) => ({ nonce: nonce.toLowerCase() })),
  },
  {
    id: 'nonce-covered-up-to-32-characters',
    breaks: 'signatures/nonce',
    about: 'A nonce can be changed behind its first 32 characters when those alone were signed.',
    create: () => alsoTakes(({ nonce }) => ({ nonce: nonce.slice(0, 32) })),
  },
  {
    id: 'nonce-signed-after-percent-decoding-accepted',
    breaks: 'signatures/nonce',
    create: () =>
      alsoTakes(({ nonce }) => {
        try {
          return { nonce: decodeURIComponent(nonce) }
        } catch {
          return {}
        }
      }),
  },
  {
    id: 'nonce-of-digits-signed-as-number',
    breaks: 'signatures/nonce',
    about: 'A nonce of digits loses its leading zeros before it is signed.',
    create: () => takesOnly(({ nonce }) => ({ nonce: /^\d+$/.test(nonce) ? nonce.replace(/^0+(?=\d)/, '') : nonce })),
  },
  {
    id: 'uri-with-trailing-slash-accepted',
    breaks: 'signatures/request-uri',
    create: () => alsoTakes(() => ({ uri: '/api/' })),
  },
  {
    id: 'empty-uri-line-accepted',
    breaks: 'signatures/request-uri',
    create: () => alsoTakes(() => ({ uri: '' })),
  },
  {
    id: 'signature-for-put-accepted',
    breaks: 'signatures/request-method',
    create: () => alsoTakes(() => ({ httpMethod: 'PUT' })),
  },
  {
    id: 'final-line-feed-optional-for-key-creation',
    breaks: 'signatures/request-line-feeds',
    create: () => ({
      rules: {
        dataToSign: (parts) =>
          parts.body.includes('manager/createApiKey')
            ? [signed(parts), Buffer.from(signed(parts)).subarray(0, -1)]
            : [signed(parts)],
      },
    }),
  },
  {
    id: 'crlf-between-lines-accepted',
    breaks: 'signatures/request-line-feeds',
    create: () => ({
      rules: {
        dataToSign: (parts) => [
          signed(parts),
          Buffer.concat([
            Buffer.from(`${parts.timestamp};${parts.nonce};${parts.httpMethod}\r\n${parts.uri}\r\n`),
            parts.body,
            Buffer.from('\r\n'),
          ]),
        ],
      },
    }),
  },
  {
    id: 'nonce-before-timestamp-accepted',
    breaks: 'signatures/data-to-sign',
    create: () => alsoTakes(({ timestamp, nonce }) => ({ timestamp: nonce, nonce: timestamp })),
  },
  {
    id: 'border-of-timestamp-and-nonce-not-covered',
    breaks: 'signatures/data-to-sign',
    about: 'Timestamp and nonce are joined without a semicolon, so the two fields can swap digits.',
    create: () => ({
      rules: {
        dataToSign: (parts) => [
          signed(parts),
          Buffer.concat([
            Buffer.from(`${parts.timestamp}${parts.nonce};${parts.httpMethod}\n${parts.uri}\n`),
            parts.body,
            Buffer.from('\n'),
          ]),
        ],
      },
    }),
  },
  {
    id: 'version-parsed-as-number',
    breaks: 'signatures/version',
    about: '`01`, `1.9` and `1x` count as 1.',
    create: () => ({ rules: { versionTaken: (version) => Number.parseInt(version, 10) === 1 } }),
  },
  {
    id: 'spaces-around-fields-trimmed',
    breaks: 'signatures/header-exact',
    create: () => ({ rules: { headerFields: (credentials) => credentials.split(';').map((field) => field.trim()) } }),
  },
  {
    id: 'comma-separates-fields-too',
    breaks: 'signatures/header-exact',
    create: () => ({ rules: { headerFields: (credentials) => credentials.split(/[;,]/) } }),
  },
  {
    id: 'empty-fields-skipped',
    breaks: 'signatures/header-exact',
    about: 'Two semicolons in a row count as one, and one more at the end is ignored.',
    create: () => ({ rules: { headerFields: (credentials) => credentials.split(/;+/).filter(Boolean) } }),
  },
  {
    id: 'scheme-word-compared-by-prefix',
    breaks: 'signatures/scheme',
    create: () => ({
      rules: {
        schemeTaken: (word, expected, profile) =>
          right.schemeTaken(word, expected, profile) || (expected === profile.scheme && word.startsWith(expected)),
      },
    }),
  },
  {
    id: 'long-key-id-cut-in-signatures',
    breaks: 'signatures/key-id',
    about: 'Text behind the first 32 characters of the key id is ignored.',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) => {
          const signs = means === 'hmac' || means === 'ecc'
          return right.keyNamed(signs ? id.slice(0, 32) : id, find, all, means)
        },
      },
    }),
  },
  {
    id: 'second-mac-on-connection-not-checked',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'After a right signature the next one on the same connection is not verified.',
    create: () => {
      const seen = watch(() => ({ verified: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            const { connection = 0 } = seen.request
            if (seen.memory.verified.delete(connection)) return true
            const matches = right.macTextMatches(received, expected)
            if (matches) seen.memory.verified.add(connection)
            return matches
          },
        },
      }
    },
  },
  {
    id: 'nonce-and-signature-may-swap-places',
    breaks: 'signatures/header-fields',
    about: 'The field that looks like a MAC is taken for the signature.',
    create: () => ({
      rules: {
        headerFields: (credentials) => {
          const [id = '', version = '', timestamp = '', fourth = '', fifth = '', ...more] = credentials.split(';')
          const isSwapped = /^[A-Za-z0-9+/]{27}=$/.test(fourth) && !/^[A-Za-z0-9+/]{27}=$/.test(fifth)
          const lastTwo = isSwapped ? [fifth, fourth] : [fourth, fifth]
          return more.length > 0 || fifth === '' ? credentials.split(';') : [id, version, timestamp, ...lastTwo]
        },
      },
    }),
  },
]
