/** Puts other pairs into a sequence of steps. */
import { sessionLimit } from '../engine/document.ts'
import { refresh } from './calls.ts'
import { withKey } from './commoner-keys.ts'
import type { CallStep, Step } from './step.ts'

/** Over a second: a server may note in whole seconds when a session was made. */
export const quietMs = 1300

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

/** Grants of plain sessions, named after a letter and numbered from `first`. */
export function sessionsLike(
  { connection: _kept, ...plain }: CallStep,
  letter: string,
  count: number,
  first = 1,
): Step[] {
  return Array.from({ length: count }, (_, at): Step => {
    const scope = ['solution', `session:${letter}${at + first}$unique`]
    return { ...plain, params: { ...plain.params, scope }, as: `crowd${at + first}${letter}` }
  })
}

/** The same steps; before the last one, the key of the last grant gets sixteen sessions more, when all others have been quiet for some time. */
export function withNewerSessions(steps: readonly Step[]): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const newer = sessionsLike(granted, 'n', sessionLimit)
  return [...steps.slice(0, -1), { do: 'wait', ms: quietMs }, ...newer, ...steps.slice(-1)]
}

/** The same steps; the session of the last grant is removed by sixteen newer ones, and its name is used again. */
export function withNameAgain(steps: readonly Step[]): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const scope = ['solution', /"(session:[^"]*)"/.exec(JSON.stringify(granted.params.scope))?.[1] ?? '']
  const newer = withNewerSessions(steps)
  return [...newer.slice(0, -1), { ...granted, params: { ...granted.params, scope }, as: 'other0' }, ...newer.slice(-1)]
}

/** The same steps after an older session of another key. */
export function afterSessionOfAnother(steps: readonly Step[], key: string): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  return [
    ...withKey(sessionsLike(granted, 'b', 1), { key: keyOf(granted), by: key }),
    { do: 'wait', ms: quietMs },
    ...steps,
  ]
}

/** A server that removes the oldest session of all users may hold more than sixteen of a key, so one round does not replace all of them. */
const roundsOfOthers = 24

/** The same steps; every session of other keys is newer than that of the first grant, and older than those that were put in. */
export function withOthersNewer(steps: readonly Step[], keys: readonly string[]): Step[] {
  const granted = lastSession(steps)
  const crowd = steps.findIndex(isOtherSession)
  if (granted === undefined || crowd < 0 || keys.length === 0) return [...steps]
  const ofOthers = Array.from({ length: roundsOfOthers }, (_, round): Step[] => {
    const by = keys[round % keys.length] ?? ''
    return withKey(sessionsLike(granted, 'b', sessionLimit, round * sessionLimit + 1), { key: keyOf(granted), by })
  })
  return [...steps.slice(0, crowd), ...ofOthers.flat(), { do: 'wait', ms: quietMs }, ...steps.slice(crowd)]
}

/** Keys but this one that were granted sessions; first one that is simply created again. */
export function othersWithSessions(granted: readonly Step[], steps: readonly Step[]): string[] {
  const own = keyOf(lastSession(steps))
  const keys = granted.map((step) => keyOf(lastSession([step]))).filter((key) => key !== '' && key !== own)
  return [...new Set(keys)].sort((one, other) => Number(other === 'by-basic') - Number(one === 'by-basic'))
}

/** The key to which a grant goes. */
const keyOf = (granted: CallStep | undefined): string =>
  /^\$([\w-]+)\.id$/.exec(String(granted?.params.apiKeyId))?.[1] ?? ''

/** The same steps; the key of the last grant has sixteen older sessions, and gets as many newer ones as may exist beside its own. */
export function withSessionsAround(steps: readonly Step[]): Step[] {
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
  step.do === 'call' && /^crowd\d+[nob]$/.test(step.as ?? '')
