import { expect, test } from 'vitest'
import { noAnswer } from './transport.ts'

const openSsl = (what: string): string =>
  `80CC:error:0A00045C:SSL routines:ssl3_read_bytes:${what}:../deps/openssl/ssl/rec_layer_s3.c:1601:SSL alert number 116\n`

test('a server that requires a client certificate is recognised, and OpenSSL is not quoted in full', () => {
  const required = Object.assign(new Error(openSsl('tlsv13 alert certificate required')), {
    code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  })
  expect(noAnswer(required, false)).toMatchObject({
    reason: 'it requires a client certificate (tls.cert and tls.key in the target file name one)',
  })
  expect(noAnswer(new Error(openSsl('sslv3 alert bad certificate')), false)).toMatchObject({
    reason: 'TLS failed: sslv3 alert bad certificate',
  })
})
