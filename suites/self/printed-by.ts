import type { Readable } from 'node:stream'

/**
 * Collects what a process prints: stdout, then stderr. Each is a text of its own, because a part of one may come in the middle of a word of
 * the other; and the decoder of the stream keeps a character together that two parts share.
 *
 * @returns what was printed so far
 */
export function printedBy({ stdout, stderr }: { stdout: Readable; stderr: Readable }): () => string {
  const texts = [stdout, stderr].map(textOf)
  return () => texts.map((text) => text()).join('')
}

/** Collects the text of a stream. @returns what has come so far */
export function textOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  return () => text
}
