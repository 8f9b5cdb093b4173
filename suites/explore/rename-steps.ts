/** Renames what the steps create, so that a sequence can be run again beside its earlier run. */
import type { CallStep, Step } from './step.ts'

/** @param names what a step makes and uses, by its old name; `mark` is put before `$unique`, and its digits before `$digits`, so that sessions and keys get new names too */
export function renamed<S extends Step>(step: S, names: ReadonlyMap<string, string>, mark: string): S {
  if (step.do === 'wait') return step
  if (step.do === 'burst') return { ...step, calls: step.calls.map((call) => renamed(call, names, mark)) }
  const text = JSON.stringify(step).replace(/\$([A-Za-z][\w-]*)/g, (whole, name: string) => {
    if (/^unique\b/.test(name)) return `${mark}-${whole}`
    if (name === 'digits') return `${mark.replace(/\D/g, '')}${whole}`
    const other = names.get(name)
    return other === undefined ? whole : `$${other}`
  })
  const next = JSON.parse(text) as CallStep
  const connection =
    typeof next.connection === 'number' || next.connection === undefined
      ? { connection: `${next.connection ?? 0} ${mark}` }
      : {}
  return { ...next, ...connection, ...(next.as === undefined ? {} : { as: names.get(next.as) ?? next.as }) } as S
}
