/** What the target file says about methods that the document does not show. */
import { areas } from '../engine/model/facts-of-scope.ts'
import type { Terms } from '../engine/model/index.ts'
import type { TargetSettings } from '../engine/target.ts'
import type { CallStep } from './step.ts'

/** A call that one API area opens. */
export interface AreaProbe {
  readonly method: string
  readonly params: CallStep['params']
}

/** The methods of the target file: those that one API area opens, and those that it names for other purposes. */
export function namedMethods({ probes, cleanup }: TargetSettings): Pick<Terms, 'probes' | 'otherMethods'> {
  const named = Object.entries(probes)
  const ofAreas = new Map(named.flatMap(([area, { method }]) => (areas.includes(area) ? [[method, area]] : [])))
  const others = [...named.map(([, { method }]) => method), ...(cleanup === undefined ? [] : [cleanup.method])]
  return { probes: ofAreas, otherMethods: new Set(others.filter((method) => !ofAreas.has(method))) }
}

/** The calls of the target file for which the scope of their area suffices; none with the id of a solution. */
export const areaProbes = ({ probes }: TargetSettings): AreaProbe[] =>
  Object.entries(probes).flatMap(([area, { method, params, scope }]) => {
    const isPlain = areas.includes(area) && scope === undefined && !JSON.stringify(params ?? {}).includes('$')
    return isPlain ? [{ method, params: (params ?? {}) as CallStep['params'] }] : []
  })
