import type { Exchange, Request, SignatureShown, Story } from './journal.ts'

/** One thing that a correct client does. */
export interface Check {
  id: string
  /** `document`: a sentence of the document; breaking it fails. `practice`: good practice with a source; breaking it warns. */
  level: 'document' | 'practice'
  /** A claim in the present tense. */
  title: string
  /** The sentence of the document, or what the source recommends. */
  sentence: string
  /** The place of the sentence. */
  source: string
  /** Looks at one journal. Pure. */
  judge(evidence: Evidence): Judged
}

interface Evidence {
  story: Story
  /** Every signed request, with what it shows. */
  signed: readonly (SignatureShown & { request: Request })[]
}

interface Judged {
  /** Whether the client did what the check is about; a finding says so too. */
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

/** A finding with the requests or exchanges that show it, in order. */
export const finding = (message: string, ...exchanges: readonly Exchange[]): Finding => ({ message, exchanges })

/** A message is shown by the request that was looked at. */
type Problem = string | Finding | false | null

/** What is wrong with each request by itself. */
export function each(requests: readonly Request[], problemsOf: (request: Request) => readonly Problem[]): Finding[] {
  return requests.flatMap((request) =>
    problemsOf(request)
      .filter((problem) => problem !== null && problem !== false)
      .map((problem) => (typeof problem === 'string' ? finding(problem, request) : problem)),
  )
}

/** Judges every request of one kind by itself; one of them exercises the check. */
export function ofEach(
  isMeant: (request: Request, story: Story) => boolean,
  problemsOf: (request: Request, story: Story) => readonly Problem[],
): Check['judge'] {
  return ({ story }) => {
    const requests = story.requests.filter((request) => isMeant(request, story))
    return { exercised: requests.length > 0, findings: each(requests, (request) => problemsOf(request, story)) }
  }
}
