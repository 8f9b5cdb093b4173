import { type Json, Unmakeable, type Wrap } from './change.ts'

/** The same value, in a JSON form in which a careless server may still find it. @throws Unmakeable for a form of lists where there is none */
export function wrapped(value: Json | undefined, wrap: Wrap): Json {
  if (value === undefined) throw new Unmakeable('No value to wrap')
  const list: readonly Json[] | null = Array.isArray(value) ? (value as readonly Json[]) : null
  switch (wrap) {
    case 'in-list':
      return [value]
    case 'in-list-twice':
      return [[value]]
    case 'in-object':
      return { value }
    case 'as-json-text':
      return JSON.stringify(value)
    default:
      if (list === null) throw new Unmakeable('Not a list')
  }
  if (wrap === 'joined') return list.join(' ')
  if (wrap === 'joined-by-comma') return list.join(',')
  if (wrap === 'first-alone') return list[0] ?? ''
  if (wrap === 'with-number') return [...list, 1]
  return wrap === 'with-null' ? [...list, null] : Object.fromEntries(list.map((item, at) => [String(at), item]))
}
