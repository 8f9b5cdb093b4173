/** What the target file says about methods that the document does not show. */
import { areas } from '../engine/model/facts-of-params.ts'
import type { Terms } from '../engine/model/state.ts'
import type { TargetSettings } from '../engine/target.ts'
import type { CallStep } from './step.ts'

/** A call that one API area opens. */
export interface AreaProbe {
  readonly method: string
  readonly params: CallStep['params']
}

/** The methods of the target file: those that one API area opens, the one for the contexts of a solution, and those that it names for other purposes. */
export function namedMethods(settings: TargetSettings): Pick<Terms, 'probes' | 'otherMethods' | 'contextsOfSolution'> {
  const { probes, cleanup } = settings
  const named = Object.entries(probes)
  const ofSolution = solutionProbe(settings)
  const ofAreas = new Map(named.flatMap(([area, { method }]) => (areas.includes(area) ? [[method, area]] : [])))
  const others = [...named.map(([, { method }]) => method), ...(cleanup === undefined ? [] : [cleanup.method])]
  return {
    probes: ofAreas,
    otherMethods: new Set(others.filter((method) => !ofAreas.has(method))),
    ...(ofSolution === undefined ? {} : { contextsOfSolution: ofSolution }),
  }
}

/** A call that names a solution. */
export interface SolutionProbe extends AreaProbe {
  /** Where in its params the id of the solution stands. */
  readonly path: readonly string[]
}

/** The probe `solution-context` of the target file, if the scope context suffices for it. */
export function solutionProbe({ probes }: TargetSettings): SolutionProbe | undefined {
  const probe = probes['solution-context']
  const params = (probe?.params ?? {}) as CallStep['params']
  const path = pathTo('$solution', params)
  const isPlain = probe?.scope === undefined && JSON.stringify(params).split('$').length === 2
  return probe === undefined || path === undefined || !isPlain ? undefined : { method: probe.method, params, path }
}

/** Where in a value a text stands; undefined: nowhere. */
function pathTo(text: string, value: unknown): string[] | undefined {
  if (value === text) return []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const rest = pathTo(text, member)
    if (rest !== undefined) return [name, ...rest]
  }
  return undefined
}

/** The calls of the target file for which the scope of their area suffices; none with the id of a solution. */
export const areaProbes = ({ probes }: TargetSettings): AreaProbe[] =>
  Object.entries(probes).flatMap(([area, { method, params, scope }]) => {
    const isPlain = areas.includes(area) && scope === undefined && !JSON.stringify(params ?? {}).includes('$')
    return isPlain ? [{ method, params: (params ?? {}) as CallStep['params'] }] : []
  })
