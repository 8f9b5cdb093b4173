import { SuiteError } from '../errors.ts'
import { showJson } from '../judge/show-json.ts'

const longestShown = 60

/** A value from the server that cannot be used as a token or key. It proves nothing about the requirement of the step. */
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

const unsendable = 'Cannot send these credentials as they are: HTTP headers do not take their characters'

/** Credentials that no Authorization header can carry: they contain a line feed, or a character outside ISO 8859-1. */
export class UnsendableCredentials extends SuiteError {
  /** Whether the step sent an unaltered token. The server issued it, unless a secret was sent in its place. */
  readonly isToken: boolean
  constructor(isToken: boolean) {
    super('fixture', unsendable)
    this.isToken = isToken
  }
}
