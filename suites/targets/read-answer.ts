/** Reads the answer to a request, and never more of it than a limit allows. */
import type http from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { WireAnswer } from '../engine/target.ts'
import { proxyErrorCode } from './proxy.ts'

/** The default, unless the target file says otherwise. */
export const defaultMaxAnswerBytes = 4 * 2 ** 20

/** Reads the body of an answer; an answer longer than the limit is `unread`, and its connection is closed. */
export function readAnswer(response: http.IncomingMessage, maxBytes: number): Promise<WireAnswer> {
  const { statusCode: status = 0 } = response
  const headers = flatHeaders(response.headers)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let isLong = false
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) {
        chunks.push(chunk)
        if (length > longAnswer && !isLong) {
          isLong = true
          waitForTurn(response)
        }
        return
      }
      resolve({ kind: 'unread', status, headers, limitBytes: maxBytes })
      response.destroy()
    })
    response.on('end', () => {
      noteAnswerRead(length)
      resolve(decodedAnswer(status, headers, Buffer.concat(chunks.splice(0), length), maxBytes))
    })
    response.on('error', reject)
    response.on('aborted', () => reject(new Error('the connection was dropped within the answer')))
  })
}

/** Stops reading until it is the turn of this answer; the turn ends with the answer. */
function waitForTurn(response: http.IncomingMessage): void {
  response.pause()
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  takeTurn().then(async (release) => {
    response.resume()
    await closed
    release()
  })
}

const decoders: { readonly [coding: string]: typeof gunzipSync } = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
}

/**
 * Decodes the body: a request without Accept-Encoding accepts any coding (RFC 9110, 12.5.3). Bytes that do not match the header stay as
 * received.
 */
function decodedAnswer(
  status: number,
  headers: { [name: string]: string },
  received: Buffer,
  maxBytes: number,
): WireAnswer {
  const decode = decoders[headers['content-encoding']?.toLowerCase() ?? '']
  if (decode === undefined) return { kind: 'answer', status, headers, body: received }
  try {
    return { kind: 'answer', status, headers, body: decode(received, { maxOutputLength: maxBytes }) }
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLong
      ? { kind: 'unread', status, headers, limitBytes: maxBytes }
      : { kind: 'answer', status, headers, body: received }
  }
}

/** Header names in lower case; several headers of one name joined by commas. */
function flatHeaders(headers: { [name: string]: string | string[] | undefined }): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}

// Long answers are read a few at a time, and what is left of them is collected: V8 by itself may let a process grow
// beyond what SECURITY.md promises.

/** Shorter answers are read as they come. In bytes. */
const longAnswer = 2 ** 18
/** How many long answers are read at the same time. */
const mostAtOnce = 3
/** Bytes of long answers after which garbage is collected. */
const mostGarbage = 6 * 2 ** 20

let underWay = 0
const waiting: (() => void)[] = []

/** Waits until another long answer may be read. @returns what lets the next one begin */
async function takeTurn(): Promise<() => void> {
  if (underWay >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  else underWay += 1
  return () => {
    const next = waiting.shift()
    if (next === undefined) underWay -= 1
    else next()
  }
}

let garbage = 0
let collect: (() => void) | undefined

/** Counts an answer that was read, and collects garbage when many long ones were. */
function noteAnswerRead(bytes: number): void {
  if (bytes < longAnswer) return
  garbage += bytes
  if (garbage >= mostGarbage) collectAnswers()
}

/** Collects what is left of long answers, if there were any. */
export function collectAnswers(): void {
  if (garbage === 0) return
  garbage = 0
  collect ??= exposeCollector()
  collect()
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

/**
 * Describes a failed request.
 *
 * @param reused the connection carried an answer before, so it may have been closed in between
 */
export function noAnswer(error: unknown, reused: boolean): WireAnswer {
  const message = error instanceof Error ? error.message : String(error)
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (code === proxyErrorCode) {
    const { isAway = false } = error as { isAway?: boolean }
    return { kind: 'none', reason: message, refusedConnection: isAway, stale: false }
  }
  return {
    kind: 'none',
    reason: sentences[code] ?? withoutPlaces(message),
    refusedConnection: code === 'ECONNREFUSED',
    stale: reused && (code === 'ECONNRESET' || code === 'EPIPE'),
  }
}

/** `0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert …:../deps/…` says where in OpenSSL; one part of it says what. */
function withoutPlaces(message: string): string {
  const [, what] = /:SSL routines:[^:]*:([^:]+)/.exec(message) ?? []
  return what === undefined ? message : `TLS failed: ${what}`
}

/** Whether the request failed because the time for the answer was up. */
export function lateAnswer(timeoutMs: number): WireAnswer {
  return {
    kind: 'none',
    reason: `no answer within ${timeoutMs} ms`,
    refusedConnection: false,
    stale: false,
    timedOut: true,
  }
}

const insecure = '"tls: { insecure: true }" in the target file takes any'
const ownCa = `tls.ca in the target file or NODE_EXTRA_CA_CERTS names one to trust; ${insecure}`
const untrusted = `its certificate is not trusted (${ownCa})`

const sentences: { [code: string]: string } = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was dropped without an answer',
  EPIPE: 'the connection was dropped while the request was sent',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  HPE_INVALID_CONSTANT: 'the answer is not HTTP',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EPROTO: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'it requires a client certificate (tls.cert and tls.key in the target file name one)',
  CERT_HAS_EXPIRED: `its certificate has expired (${insecure})`,
  ERR_TLS_CERT_ALTNAME_INVALID: `its certificate is for another host name (${insecure})`,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: `its certificate is self-signed (${ownCa})`,
}
