import type { Exchange } from './journal.ts'
import type { SignedRequest } from './story/signatures.ts'
import type { Story } from './story/story.ts'

/** `document`: a sentence of the document, so what breaks it fails. `practice`: good practice with a source, so what breaks it warns. */
export type Level = 'document' | 'practice'

/** One thing that a right client does. */
export interface Check {
  id: string
  level: Level
  /** A claim in the present tense. */
  title: string
  /** The sentence of the document, or what the source recommends. */
  sentence: string
  /** Where the sentence stands. */
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
  /** What is, and what would be right. */
  message: string
  /** The exchanges that show it, in order. */
  exchanges: readonly Exchange[]
  /** What the diagnosis of a signature says, line by line. */
  diagnosis?: readonly string[]
}
