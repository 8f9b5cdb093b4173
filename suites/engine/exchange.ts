/** A request and its answer, to be printed. */
export interface Exchange {
  /** Lines ready to print: request line, headers, body. Secrets are already shortened. */
  request: string[]
  /** Lines ready to print, or the reason why there is no answer. */
  answer: string[]
}
