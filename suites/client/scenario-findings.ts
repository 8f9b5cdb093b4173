import { type Finding, finding } from './check.ts'
import type { Ending, Start } from './journal.ts'
import type { Outcome } from './story/outcome.ts'
import type { Story } from './story/story.ts'

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
