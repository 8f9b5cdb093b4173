import type { Exchange } from './journal.ts'
import type { SignedRequest } from './story/signatures.ts'
import type { Story } from './story/story.ts'

/** `document`: a sentence of the document; breaking it fails. `practice`: good practice with a source; breaking it warns. */
export type Level = 'document' | 'practice'

/** One thing that a correct client does. */
export interface Check {
  id: string
  level: Level
  /** A claim in the present tense. */
  title: string
  /** The sentence of the document, or what the source recommends. */
  sentence: string
  /** The place of the sentence. */
  source: string
  /** Looks at one journal. Pure. */
  judge(evidence: Evidence): Judged
}

export interface Evidence {
  story: Story
  /** Every signed request, with what it shows. */
  signed: readonly SignedRequest[]
}

export interface Judged {
  /** Whether the client did what the check is about. */
  exercised: boolean
  findings: readonly Finding[]
}

export interface Finding {
  /** What the client did, and what would be right. */
  message: string
  /** The exchanges that show it, in order. */
  exchanges: readonly Exchange[]
  /** The diagnosis of a signature, line by line. */
  diagnosis?: readonly string[]
}

type Shown = Exchange | { exchange: Exchange }

/** A finding with the requests or exchanges that show it, in order. */
export function finding(message: string, ...shown: readonly Shown[]): Finding {
  return { message, exchanges: shown.map((one) => ('exchange' in one ? one.exchange : one)) }
}

/** A finding for each problem that is not null, all shown by one request. */
export function findingsOf(shown: Shown, problems: readonly (string | null)[]): Finding[] {
  return problems.flatMap((message) => (message === null ? [] : [finding(message, shown)]))
}
