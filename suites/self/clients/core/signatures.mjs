/** The parts that make an Authorization header: interface.md §5. */
import { createHmac, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

export const signatureParts = {
  timestamp: (client) => String(client.parts.now(client)),
  nonce: () => randomBytes(16).toString('hex'),
  signedMethod: (httpMethod) => httpMethod.toUpperCase(),
  signedUri: () => '/api',
  signedBody: (body) => body,
  requestData: ({ method, uri, body }) => `${method}\n${uri}\n${body}\n`,
  dataToSign: ({ timestamp, nonce, requestData }) => `${timestamp};${nonce};${requestData}`,
  mac: (secret, data) => createHmac('sha256', secret).update(data).digest(),
  shortenMac: (mac) => mac.subarray(0, 20),
  eccSignature: (privateKey, data) => sign(null, Buffer.from(data), privateKey),
  encodeSignature: (bytes) => bytes.toString('base64'),
  /** The copies that go into the header. */
  timestampSent: (timestamp) => timestamp,
  nonceSent: (nonce) => nonce,
  signatureHeader: ({ scheme, keyId, timestamp, nonce, signature }) =>
    `${scheme} ${keyId};1;${timestamp};${nonce};${signature}`,

  basic: (client) =>
    `Basic ${Buffer.from(`${client.env.SVC_KEY_ID}:${client.env.SVC_KEY_SECRET ?? ''}`).toString('base64')}`,
  bearer: (client, token) => {
    const prefix = client.env.SVC_TOKEN_PREFIX ?? 'Bearer'
    return prefix === '' ? token : `${prefix} ${token}`
  },

  /** The Authorization header of a request; `manager/auth` has none (§4.2). */
  authorization(client, request, wire) {
    const { parts } = client
    if (request.purpose !== 'call') return parts.authorizationOfAuth(client, request, wire)
    if (client.auth === 'token') return parts.bearer(client, request.token)
    if (client.auth === 'basic') return parts.basic(client)
    return parts.signed(client, wire, request)
  },
  authorizationOfAuth: () => undefined,

  signed(client, wire, request = {}) {
    const { parts, env } = client
    const timestamp = parts.timestamp(client)
    const nonce = parts.nonce(client, request)
    const requestData = parts.requestData({
      method: parts.signedMethod(wire.httpMethod),
      uri: parts.signedUri(client),
      body: parts.signedBody(wire.body),
    })
    const data = parts.dataToSign({ timestamp, nonce, requestData, keyId: env.SVC_KEY_ID })
    const bytes =
      client.auth === 'ecc'
        ? parts.eccSignature(privateKeyOf(client), data)
        : parts.shortenMac(parts.mac(env.SVC_KEY_SECRET, data))
    return parts.signatureHeader({
      scheme: env.SVC_SCHEME ?? 'svc-hmac-sha256',
      keyId: env.SVC_KEY_ID,
      timestamp: parts.timestampSent(timestamp),
      nonce: parts.nonceSent(nonce),
      signature: parts.encodeSignature(bytes),
    })
  },
}

function privateKeyOf(client) {
  client.privateKey ??= createPrivateKey(readFileSync(client.env.SVC_PRIVATE_KEY_FILE))
  return client.privateKey
}
