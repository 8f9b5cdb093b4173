/** Puts other pairs into a sequence of steps. */
import { sessionLimit } from '../engine/document.ts'
import { refresh } from './calls.ts'
import type { CallStep, Step } from './step.ts'

/** So many pairs that a server may have forgotten what it knew of older ones. */
const otherPairs = 24

/** The last grant; undefined if it was a wrong one. */
function lastGrant(steps: readonly Step[]): CallStep | undefined {
  const granted = steps.findLast(
    (step): step is CallStep => step.do === 'call' && step.params.grantType === 'api_key_credentials',
  )
  return granted?.change === undefined ? granted : undefined
}

/** The same steps; before the last one, the key of the last grant gets sixteen sessions more, when all others have been quiet for some time. */
export function withNewerSessions(steps: readonly Step[], quietMs: number): Step[] {
  const granted = lastGrant(steps)
  if (granted === undefined || !/"session:/.test(JSON.stringify(granted.params.scope))) return [...steps]
  const { connection: _kept, ...plain } = granted
  const more = Array.from({ length: sessionLimit }, (_, at): Step => {
    const scope = ['solution', `session:n${at + 1}$unique`]
    return { ...plain, params: { ...plain.params, scope }, as: `newer${at + 1}` }
  })
  return [...steps.slice(0, -1), { do: 'wait', ms: quietMs }, ...more, ...steps.slice(-1)]
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

/** Whether it is one of the grants that `withNewerSessions` put in. */
export const isNewerSession = (step: Step): step is CallStep => step.do === 'call' && /^newer\d+$/.test(step.as ?? '')
