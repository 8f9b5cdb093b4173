/**
 * The fixture language as data: what the parser hands to the rest of the engine.
 * Words are those of fixtures/README.md; a `$reference` is still a string here and is resolved when a case runs.
 */

import type { Json, NonceKind } from '../signer/changed-call.ts'
import type { Mistake } from '../signer/sign.ts'

/** What a scenario does to the target: `sessions` takes tokens, `keys` creates API keys, `limits` fills a limit. */
export type SafetyClass = 'sessions' | 'keys' | 'limits'

/** What a scenario needs beyond an ordinary call; `probe:` names a method that the target file declares. */
export type Need =
  | SafetyClass
  | 'fresh-instance'
  | 'second-address'
  | 'clock-control'
  | 'cleanup'
  | 'solutions'
  | `probe:${string}`

/** A YAML value; strings that begin with `$` are references. */
export type Value = Json

export type Auth =
  | 'none'
  /** A test key, or a `$reference` to a kept { id, secret }. `but` may be a reference ($case.but). */
  | { hmac: string; but?: Mistake | string }
  | { ecc: string; but?: Mistake | string }
  /** `but`: a word of engine/conversation/call.ts, or the secret of another test key. */
  | { basic: string; but?: string | { 'secret-of': string } }
  | { token: string; but?: string }
  /** Any key ($it of $created, or a test key), in a way that works for it. */
  | { key: string }
  | { header: string }

/** A plain value, or one of these; `in` is milliseconds from now on the server's clock. */
type Matcher =
  | Value
  | { not: Value }
  | { includes: Value }
  | { excludes: Value }
  | { in: string | number }
  | { 'at-most': Value }
  | { 'at-least': Value }
  /** A JSON Schema. */
  | { is: Value }

export type Where = { [path: string]: Matcher }

export type Expect =
  | 'accepted'
  | 'refused'
  | { accepted: string; where?: Where }
  | { accepted: null; where: Where }
  | { 'refused-or': { accepted?: string; where?: Where } }

export interface Tally {
  accepted?: number | string
  refused?: number | string
}

interface StepCommon {
  /** A sentence for readers of a failure. */
  step?: string
  proves?: string[]
  at: Position
}

interface Judged {
  repeat?: number | string
  parallel?: number | string
  /** The connections of `parallel` and `beside`. By default, every second round uses warm connections. */
  connections?: 'new' | 'warm'
  /** A reference to a list, or the list. */
  for?: string | readonly Value[]
  expect?: Expect
  tally?: Tally
  observe?: string
  /** The judgement counts only if the answer came at least a second before this time (of the server, in ms); otherwise the case is run again. */
  before?: string
  /** Why the case is not testable when this preparation is refused. */
  'if-refused'?: string
  /** Why the case is not testable when this preparation is accepted although it should be refused. */
  'if-accepted'?: string
}

/** Where a request comes from, and what later steps know of its answer. */
interface Placed {
  /** `first-address` unless given, `second-address`, or an address of the loopback. */
  readonly from?: string
  /** Paths in the answer by name. */
  readonly keep?: { readonly [name: string]: string }
}

/** What is changed in a right call: an operation of fixtures/deviations.yaml for each of some parts, or another value in their places. */
export interface Alter {
  readonly [part: string]: string | { readonly value: Value }
}

/** One call: what it sends, by whom and from where. People write it in YAML, generators make it, and a finding is a list of such calls. */
export interface Call extends Placed {
  readonly call: string
  readonly params?: Value
  readonly auth: Auth
  readonly alter?: Alter | string
  /** A connection that only the steps with this name share. */
  readonly connection?: string
  /** What the nonce of a signature looks like. */
  readonly nonce?: NonceKind | `$${string}`
  /** A new number unless given. */
  readonly id?: Value
  /** A word for how the JSON is written, which never changes its meaning (fixtures/README.md), or its size in bytes. */
  readonly body?: string | { readonly size: number }
  readonly headers?: { readonly [name: string]: string }
}

export type CallStep = StepCommon &
  Judged &
  Call & {
    /** Alters params by a word of engine/conversation/call.ts, such as { refreshToken: first-half }. */
    but?: { [param: string]: string } | string
    /** Other calls at the same time; nothing is expected of them. */
    beside?: Omit<Call, 'connection'>[]
    /** `$name`: this step is left out if an earlier step kept a value under this name. */
    unless?: string
  }

export type SendStep = StepCommon &
  Judged &
  Placed & {
    send: {
      method: string
      path: string
      headers?: { [name: string]: string }
      body?: string | { base64: string }
      auth?: Auth
    }
  }

type WaitStep = StepCommon & {
  /** A duration (`350ms`, `11m`), `{ past: $time }` (until a second after a time on the server's clock) or `{ until: $time }` (until 1.2 s before it). */
  wait: string | { past: string } | { until: string }
}

export type Step = CallStep | SendStep | WaitStep

interface Position {
  line: number
  column: number
}

export interface Case {
  /** null for a scenario without cases. */
  name: string | null
  /** The case's part of the id: kebab-case of the name. */
  slug: string | null
  values: { [name: string]: Value }
  proves?: string[]
}

export interface Scenario {
  /** `area/slug`, from the path of the file. */
  id: string
  /** Path of the file from the package root. */
  file: string
  title: string
  why?: string
  proves: string[]
  needs: Need[]
  cases: Case[]
  given: Step[]
  steps: Step[]
}

export interface TestKey {
  name: string
  /** `given`: the key that the user gives (root). */
  key: 'given' | 'secret' | 'ed25519'
  scope: string[]
  /** This key replaces root where a step needs a secret and the root key has a public key. */
  'stands-in-for'?: 'root'
  /** How it is created, which proves this kind of authorization. */
  'created-with'?: Auth
  proves: string[]
  why?: string
}

/** One entry of spec/requirements.yaml. */
export interface Requirement {
  id: string
  level: 'must' | 'implied'
  kind: 'guard' | 'shape'
  part: string
  text: string
  /** Ids of requirements that seem broken too where this one is. */
  consequences?: string[]
  untestable?: { without?: Need; reason: string }
}

/** One entry of spec/open-questions.yaml. */
export interface OpenQuestion {
  id: string
  part: string
  question: string
  readings: string[]
  reference: string
  switch?: string | null
  /** The value of the switch for each outcome of one observed call: the key of its case, and behind `#` its step. */
  tells?: { at: string; accepted: string | boolean; refused: string | boolean; broken?: string | boolean }
  unobserved?: string
}

/** Everything that is read from spec/ and fixtures/. */
export interface Corpus {
  requirements: Requirement[]
  questions: OpenQuestion[]
  testKeys: TestKey[]
  scenarios: Scenario[]
  /** Result schemas by the name that `accepted:` uses: `auth-result`. */
  schemas: { [name: string]: unknown }
}
