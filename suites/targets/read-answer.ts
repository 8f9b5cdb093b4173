/** Reads the answer to a request, and never more of it than a limit allows. */
import type http from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { WireAnswer } from '../engine/target.ts'
import { longAnswer, noteAnswerRead, takeTurn } from './long-answers.ts'

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
export function flatHeaders(headers: { [name: string]: string | string[] | undefined }): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}
