import { createHmac, type KeyObject, randomBytes, sign } from 'node:crypto'

const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

export type Signer = { id: string; secret: string } | { id: string; privateKey: KeyObject }

/** `count` signed calls of solution/listSolutions as they go over the wire, each with its own nonce. */
export function signedRequests(signer: Signer, count: number, timestampMs = Date.now()): Buffer[] {
  return Array.from({ length: count }, () => {
    const nonce = randomBytes(12).toString('base64')
    const data = `${timestampMs};${nonce};POST\n/api\n${body}\n`
    const signature =
      'secret' in signer
        ? createHmac('sha256', signer.secret).update(data).digest().subarray(0, 20)
        : sign(null, Buffer.from(data), signer.privateKey)
    const credentials = [signer.id, '1', timestampMs, nonce, signature.toString('base64')].join(';')
    return overTheWire(body, `authorization: svc-hmac-sha256 ${credentials}\r\n`)
  })
}

/** `count` grants of tokens for a key, each with another session name. */
export function grantRequests(key: { id: string; secret: string }, count: number): Buffer[] {
  return Array.from({ length: count }, () => {
    const scope = ['solution', `session:${randomBytes(6).toString('hex')}`]
    const params = { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope }
    return overTheWire(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'manager/auth', params }), '')
  })
}

/** A call with the credentials of a key, which may be sent again and again. */
export function basicRequest(key: { id: string; secret: string }): Buffer {
  const credentials = Buffer.from(`${key.id}:${key.secret}`).toString('base64')
  return overTheWire(body, `authorization: Basic ${credentials}\r\n`)
}

function overTheWire(text: string, headers: string): Buffer {
  const length = Buffer.byteLength(text)
  return Buffer.from(
    `POST /api HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`,
  )
}
