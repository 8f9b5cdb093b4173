import { showJson } from '../judge/show-json.ts'

const longestShown = 60

/** A value from the server that cannot be used as a token or key. Says nothing about what the step was to prove. */
export class UnusableValue extends Error {
  override readonly name = 'UnusableValue'
  readonly wanted: 'token' | 'key'
  /** JSON, cut to a readable length. */
  readonly got: string
  constructor(wanted: 'token' | 'key', got: unknown) {
    super(`Cannot use ${showJson(got, longestShown)} as a ${wanted}`)
    this.wanted = wanted
    this.got = showJson(got, longestShown)
  }
}

/** A token as the server gave it, which no Authorization header can carry: it holds a line feed, or what is not in ISO 8859-1. */
export class UnsendableToken extends Error {
  override readonly name = 'UnsendableToken'
}
