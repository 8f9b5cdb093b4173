/**
 * Creates one API key with an ED25519 public key, for the ECC scenario: `node create-key.mjs FILE` writes the private key to FILE and
 * prints the id of the key. Takes SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET and SVC_SCHEME. The server keeps the key until it is deleted.
 */
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const answerWithinMs = 10_000

/**
 * @param {{ url: string, keyId: string, keySecret: string, scheme?: string }} server the key that creates needs the right to
 * @param {string} privateKeyFile PEM is written here, readable by its owner only
 * @returns {Promise<string>} the id of the new key
 * @throws {Error} with the server's answer when it creates no key
 */
export async function createKey({ url, keyId, keySecret, scheme = 'svc-hmac-sha256' }, privateKeyFile) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const params = { name: 'load', scope: ['solution'], publicKey }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'manager/createApiKey', params })
  const timestamp = Date.now()
  const nonce = randomBytes(16).toString('hex')
  const mac = createHmac('sha256', keySecret).update(`${timestamp};${nonce};POST\n/api\n${body}\n`).digest()
  const authorization = `${scheme} ${keyId};1;${timestamp};${nonce};${mac.subarray(0, 20).toString('base64')}`
  // First the file, so that no key is created whose private key cannot be kept.
  writeFileSync(privateKeyFile, privateKey, { mode: 0o600, flag: 'wx' })
  const response = await fetch(`${url.replace(/\/$/, '')}/api`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: authorization },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(answerWithinMs),
  })
  const answer = await response.json().catch(() => undefined)
  if (typeof answer?.result?.id !== 'string')
    throw new Error(`Cannot create a key: HTTP ${response.status}, ${JSON.stringify(answer?.error ?? 'no JSON')}`)
  return answer.result.id
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { SVC_URL: url, SVC_KEY_ID: keyId, SVC_KEY_SECRET: keySecret, SVC_SCHEME: scheme } = process.env
  const file = process.argv[2]
  if (!url || !keyId || !keySecret || !file) {
    console.error('Set SVC_URL, SVC_KEY_ID and SVC_KEY_SECRET, and name the file for the private key')
    process.exitCode = 2
  } else {
    try {
      console.log(await createKey({ url, keyId, keySecret, ...(scheme ? { scheme } : {}) }, file))
    } catch (error) {
      console.error(error.message)
      process.exitCode = 1
    }
  }
}
