/** Puts other pairs into a sequence of steps. */
import { refresh } from './calls.ts'
import type { CallStep, Step } from './step.ts'

/** So many pairs that a server may have forgotten what it knew of older ones. */
const otherPairs = 24

/** The same steps; before the last one, the key of the last grant is granted other pairs, and refreshes them. */
export function withOtherPairs(steps: readonly Step[]): Step[] {
  const granted = steps.findLast(
    (step): step is CallStep => step.do === 'call' && step.params.grantType === 'api_key_credentials',
  )
  if (granted === undefined || granted.change !== undefined) return [...steps]
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
