import { isObject, isStrings, type JsonObject, parseJson } from '../../engine/json.ts'
import type { Exchange } from '../journal.ts'

/** The body of a request as JSON. */
export type Body = { kind: 'json'; value: unknown } | { kind: 'not-json' } | { kind: 'cut-off' }

/** `cut-off`: the journal holds only the beginning of the body. */
export function readBody({ body, bodyBytes }: Pick<Exchange, 'body' | 'bodyBytes'>): Body {
  if (body.length < bodyBytes) return { kind: 'cut-off' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return { kind: 'json', value: JSON.parse(text) }
  } catch {
    return { kind: 'not-json' }
  }
}

/** A JSON text as an object; null if it is not one. */
export function readObject(text: string | undefined): JsonObject | null {
  return asObject(parseJson(text ?? ''))
}

/** A value as an object; null if it is not one, or a list. */
export function asObject(value: unknown): JsonObject | null {
  return isObject(value) ? value : null
}

/** A value as a string; null if it is not one. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The strings of a list; null if it is not a list of strings. */
export function textsOf(value: unknown): string[] | null {
  return isStrings(value) ? value : null
}
