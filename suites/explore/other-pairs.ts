/** Puts other pairs into a sequence of steps. */
import { sessionLimit } from '../engine/document.ts'
import { refresh } from './calls.ts'
import type { CallStep, Step } from './step.ts'

/** After this many pairs a server may have forgotten what it knew of older ones. */
const otherPairs = 24

/** The last grant; undefined if it was a wrong one. */
function lastGrant(steps: readonly Step[]): CallStep | undefined {
  const granted = steps.findLast(
    (step): step is CallStep => step.do === 'call' && step.params.grantType === 'api_key_credentials',
  )
  return granted?.change === undefined ? granted : undefined
}

/** The last grant, if it makes a session. */
function lastSession(steps: readonly Step[]): CallStep | undefined {
  const granted = lastGrant(steps)
  return granted !== undefined && /"session:/.test(JSON.stringify(granted.params.scope)) ? granted : undefined
}

/** Grants of plain sessions, named after a letter. */
function sessionsLike({ connection: _kept, ...plain }: CallStep, letter: string, count: number): Step[] {
  return Array.from({ length: count }, (_, at): Step => {
    const scope = ['solution', `session:${letter}${at + 1}$unique`]
    return { ...plain, params: { ...plain.params, scope }, as: `crowd${at + 1}${letter}` }
  })
}

/** The same steps; before the last one, the key of the last grant gets sixteen sessions more, when all others have been quiet for some time. */
export function withNewerSessions(steps: readonly Step[], quietMs: number): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const newer = sessionsLike(granted, 'n', sessionLimit)
  return [...steps.slice(0, -1), { do: 'wait', ms: quietMs }, ...newer, ...steps.slice(-1)]
}

/** The same steps; the key of the last grant has sixteen older sessions, and gets as many newer ones as may exist beside its own. */
export function withSessionsAround(steps: readonly Step[], quietMs: number): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const wait: Step = { do: 'wait', ms: quietMs }
  const [older, newer] = [sessionsLike(granted, 'o', sessionLimit), sessionsLike(granted, 'n', sessionLimit - 1)]
  return [wait, ...older, wait, ...steps.slice(0, -1), ...newer, ...steps.slice(-1)]
}

/** The same steps; before the last one, the key of the last grant is granted other pairs, and refreshes them. */
export function withOtherPairs(steps: readonly Step[]): Step[] {
  const granted = lastGrant(steps)
  if (granted === undefined) return [...steps]
  const more = Array.from({ length: otherPairs }, (_, at): Step[] => {
    const { connection: _kept, ...plain } = granted
    const pair = `other${at}`
    return [
      { ...plain, params: { ...plain.params, scope: ['solution'] }, as: pair },
      refresh(pair, { as: `${pair}-next` }),
    ]
  })
  return [...steps.slice(0, -1), ...more.flat(), ...steps.slice(-1)]
}

/** Whether it is the grant of a session that was put in. */
export const isOtherSession = (step: Step): step is CallStep =>
  step.do === 'call' && /^crowd\d+[no]$/.test(step.as ?? '')
