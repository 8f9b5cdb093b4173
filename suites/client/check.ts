import type { Ending, Exchange, Start } from './journal.ts'
import type { SignedRequest } from './story/signatures.ts'
import type { Outcome, Story } from './story/story.ts'

/** `document`: a sentence of the document; breaking it fails. `practice`: good practice with a source; breaking it warns. */
type Level = 'document' | 'practice'

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

/**
 * Findings of a whole scenario: `ok` lines without an accepted call, and a client that does not end.
 *
 * @param takesErrors the client says `ok` for errors, which answers/error-in-200 already reports
 */
export function scenarioFindings(story: Story, takesErrors: boolean): Finding[] {
  const { starts } = story
  if (starts === null) return []
  return [...tooManyOk(story, starts, takesErrors), ...starts.flatMap((start) => noEnd(story, start))]
}

/** Whether a client prints `ok` more often than its calls were accepted. */
export function printsTooManyOk(story: Story): boolean {
  return story.starts !== null && tooManyOk(story, story.starts, false).length > 0
}

function tooManyOk({ requests }: Story, starts: readonly Start[], takesErrors: boolean): Finding[] {
  const callsWith = (wanted: Outcome): number =>
    requests.filter(({ kind, outcome }) => kind === 'call' && outcome === wanted).length
  const accepted = callsWith('accepted')
  const ok = starts.reduce((sum, start) => sum + start.ok, 0)
  if (ok <= accepted + (takesErrors ? callsWith('refused') : 0)) return []
  const others = requests.filter(({ kind, outcome }) => kind === 'call' && outcome !== 'accepted')
  const message = `The client prints "ok" ${times(ok)}, and ${accepted} of its calls were accepted. Print "error" for a call without an accepted answer`
  return [finding(message, ...others.slice(0, 2))]
}

function noEnd({ requests }: Story, { ended }: Start): Finding[] {
  const message = noEndMessage(ended)
  return message === null ? [] : [finding(message, ...requests.slice(-2))]
}

function noEndMessage(ended: Ending): string | null {
  if (ended.kind === 'timeout')
    return `The client was still running after ${ended.seconds} s and was ended. Exit when the calls are done`
  return ended.kind === 'runaway'
    ? `The client made more than ${ended.requests} requests and was ended. Bound the retries`
    : null
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)
