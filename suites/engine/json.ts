export type JsonObject = { [name: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of an object; none of any other value. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
