import { describe } from 'vitest'
import { signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  creation,
  listingBody,
  listOn,
  post,
  signs,
  signsWithHeader,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether a body is accepted with a signature over `signed`. */
const takes = async (client: Client, body: string, signed = body) =>
  works(await post(client, body, signedHeader(client.root, signed, client.clock.now())))

const creationBody = (params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params })

describe('signed data', () => {
  testWitnesses({
    'body-behind-64-kib-not-covered': (c) => {
      const body = listingBody.padEnd(65536)
      return takes(c, `${body}   `, body)
    },
    'white-space-around-body-not-covered': async (c) => !(await takes(c, `${listingBody} `)),
    'body-signed-as-latin1': async (c) => !(await takes(c, creationBody({ ...creation, name: 'ключ' }))),
    'body-signed-with-lf-for-crlf': async (c) => !(await takes(c, `${listingBody}\r\n`)),
    'body-signed-in-composed-form': async (c) => !(await takes(c, creationBody({ ...creation, name: 'e\u0301' }))),
    'body-signed-without-escapes-accepted': (c) => {
      const body = creationBody({ ...creation, name: 'a' })
      return takes(c, body.replace('"a"', '"\\u0061"'), body)
    },
    'params-of-key-creation-not-covered': (c) => takes(c, creationBody(creation), creationBody({})),
    'milliseconds-of-timestamp-not-covered': (c) => {
      const full = Math.floor(c.clock.now() / 1000) * 1000
      return signs(c, { timestamp: full + 5, data: (right) => right.replace(`${full + 5}`, `${full}`) })
    },
    'nonce-signed-in-lower-case-accepted': (c) =>
      signs(c, { nonce: 'NoNcE', data: (right) => right.replace('NoNcE', 'nonce') }),
    'nonce-covered-up-to-32-characters': (c) =>
      signs(c, { nonce: 'n'.repeat(40), data: (right) => right.replace('n'.repeat(40), 'n'.repeat(32)) }),
    'nonce-signed-after-percent-decoding-accepted': (c) =>
      signs(c, { nonce: 'no%6Ece', data: (right) => right.replace('no%6Ece', 'nonce') }),
    'nonce-of-digits-signed-as-number': async (c) => !(await signs(c, { nonce: '000123' })),
    'uri-with-trailing-slash-accepted': (c) => signs(c, { uri: '/api/' }),
    'empty-uri-line-accepted': (c) => signs(c, { uri: '' }),
    'signature-for-put-accepted': (c) => signs(c, { method: 'PUT' }),
    'final-line-feed-optional-for-key-creation': async (c) =>
      works(
        await c.call(
          'manager/createApiKey',
          creation,
          { hmac: c.root },
          {
            data: (right) => right.slice(0, -1),
          },
        ),
      ),
    'crlf-between-lines-accepted': (c) => signs(c, { data: (right) => right.replaceAll('\n', '\r\n') }),
    'nonce-before-timestamp-accepted': (c) =>
      signs(c, { nonce: 'nonce', data: (right) => right.replace(/^(\d+);nonce/, 'nonce;$1') }),
    'border-of-timestamp-and-nonce-not-covered': (c) => signs(c, { data: (right) => right.replace(';', '') }),
    'version-parsed-as-number': (c) => signs(c, { version: '01' }),
    'spaces-around-fields-trimmed': (c) => signsWithHeader(c, (header) => header.replaceAll(';', '; ')),
    'comma-separates-fields-too': (c) => signsWithHeader(c, (header) => header.replaceAll(';', ',')),
    'empty-fields-skipped': (c) => signsWithHeader(c, (header) => `${header};`),
    'scheme-word-compared-by-prefix': (c) => signsWithHeader(c, (header) => header.replace(' ', '-v2 ')),
    'long-key-id-cut-in-signatures': (c) => signs(c, {}, { id: `${c.root.id}0`, secret: c.root.secret }),
    'second-mac-on-connection-not-checked': async (c) => {
      await listOn(c, 1, { hmac: c.root })
      return works(await listOn(c, 1, { hmac: { id: c.root.id, secret: 'wrong' } }))
    },
    'nonce-and-signature-may-swap-places': (c) =>
      signsWithHeader(c, (header) => header.replace(/;([^;]*);([^;]*)$/, ';$2;$1')),
  })
})
