/** A request and its answer, to be printed. */
export interface Exchange {
  /** Lines ready to print: request line, headers, body. Secrets are already shortened. */
  request: string[]
  /** Lines ready to print, or the reason why there is no answer. */
  answer: string[]
}

/** A body as lines, in which line ends are visible; empty lines are left out. */
export function visibleLines(body: Uint8Array | string): string[] {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return text
    .replaceAll('\r', '␍')
    .replaceAll('\n', '␊\n')
    .split('\n')
    .filter((line) => line !== '')
}
