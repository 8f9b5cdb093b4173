import { createHmac, createPublicKey, createSecretKey, timingSafeEqual, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * The reference of the benchmark, a separate process: a bare node:http server that parses a call, checks its signature as the reference
 * server does and nothing else, and answers with two solutions. It prints its port. Arguments: `hmac` and a secret, or `ecc` and a public
 * key in PEM form.
 */
const [kind, material = ''] = process.argv.slice(2)
const secretKey = kind === 'hmac' ? createSecretKey(material, 'utf8') : undefined
const publicKey = kind === 'ecc' ? createPublicKey(material) : undefined
const solution = (name: string) => ({ id: '0'.repeat(32), created: Date.now(), name })

/** How far a timestamp may be off, and how many nonces are remembered: as in the reference server. */
const timeWindowMs = 600_000
const mostNonces = 200_000
let older = new Set<string>()
let newer = new Set<string>()

function isRight(header: string, body: Buffer): boolean {
  const [id, version, timestamp, nonce = '', signature = ''] = header.slice(header.indexOf(' ') + 1).split(';')
  if (id !== 'bench' || version !== '1' || Math.abs(Number(timestamp) - Date.now()) >= timeWindowMs) return false
  if (newer.has(nonce) || older.has(nonce)) return false
  const data = Buffer.concat([Buffer.from(`${timestamp};${nonce};POST\n/api\n`), body, Buffer.from('\n')])
  if (!isSignatureOf(data, Buffer.from(signature, 'base64'))) return false
  if (newer.size >= mostNonces / 2) [older, newer] = [newer, new Set()]
  newer.add(nonce)
  return true
}

function isSignatureOf(data: Buffer, signature: Buffer): boolean {
  if (publicKey) return verify(null, data, publicKey, signature)
  if (!secretKey || signature.length !== 20) return false
  return timingSafeEqual(createHmac('sha256', secretKey).update(data).digest().subarray(0, 20), signature)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    const { id } = JSON.parse(body.toString('utf8'))
    const answer = isRight(request.headers.authorization ?? '', body)
      ? { jsonrpc: '2.0', id, result: { list: [solution('First solution'), solution('Second solution')] } }
      : { jsonrpc: '2.0', id, error: { code: 24879, message: 'Unauthorized' } }
    const text = JSON.stringify(answer)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.end(text)
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
process.on('SIGTERM', () => process.exit(0))
