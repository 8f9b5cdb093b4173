import { reference } from '../fixture/references.ts'
import { valueAt } from '../judge/match.ts'
import { showJson } from '../judge/show-json.ts'

/** The names a case knows: built-ins, the case's own values and what steps kept. */
export type Names = { [name: string]: unknown }

/** A `$reference` without a value, because an earlier answer lacked it. Says nothing about what the step was to prove. */
export class UnresolvedReference extends Error {
  override readonly name = 'UnresolvedReference'
  readonly reference: string
  constructor(reference: string) {
    super(`"${reference}" has no value`)
    this.reference = reference
  }
}

/** A value from the server that cannot be used as a token or key. Says nothing about what the step was to prove. */
export class UnusableValue extends Error {
  override readonly name = 'UnusableValue'
  readonly wanted: 'token' | 'key'
  /** JSON, cut to a readable length. */
  readonly got: string
  constructor(wanted: 'token' | 'key', got: unknown) {
    super(`Cannot use ${showJson(got, longestShown)} as a ${wanted}`)
    this.wanted = wanted
    this.got = showJson(got, longestShown)
  }
}

const longestShown = 60

/** A text that is only a reference. */
const whole = new RegExp(`^${reference.source}$`, 'i')

/**
 * Replaces every `$name` and `$name.path` in a fixture value. A value that is only a reference keeps its type; reference a longer
 * string it becomes text. `$case` values may themselves be references.
 *
 * @throws UnresolvedReference
 */
export function resolve(value: unknown, names: Names): unknown {
  if (typeof value === 'string') return resolveString(value, names)
  if (Array.isArray(value)) return value.map((item) => resolve(item, names))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item, names)]))
  }
  return value
}

function resolveString(text: string, names: Names): unknown {
  if (!text.includes('$')) return text
  const only = whole.exec(text)
  if (only?.[1] !== undefined) return lookUp(only[1], names)
  return text.replace(reference, (_match, path: string) => {
    const value = lookUp(path, names)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

function lookUp(path: string, names: Names): unknown {
  const [first = '', ...rest] = path.split('.')
  // Not only own names: the rounds of a step inherit those of their case.
  const named = names[first]
  const value = rest.length === 0 ? named : valueAt(named, rest.join('.'))
  if (value === undefined) throw new UnresolvedReference(`$${path}`)
  return path.startsWith('case.') ? resolve(value, names) : value
}

/** The first part of every reference in a value: `bob` for `$bob.secret`. */
export function namesUsed(value: unknown): Set<string> {
  const found = new Set<string>()
  const visit = (inner: unknown): void => {
    if (typeof inner === 'string')
      for (const match of inner.matchAll(reference)) found.add(match[1]?.split('.')[0] ?? '')
    else if (typeof inner === 'object' && inner !== null) for (const item of Object.values(inner)) visit(item)
  }
  visit(value)
  return found
}
