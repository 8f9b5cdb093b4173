export type JsonObject = { [name: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The members of an object; an empty object for any other value. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

const decoder = new TextDecoder()

/** The members of the object that a body holds; an empty object for any other bytes. */
export function membersIn(body: Uint8Array | undefined): JsonObject {
  return membersOf(parseJson(decoder.decode(body)))
}

/** The members that have a value: an optional member is left out rather than undefined. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as never
}

/** Returns undefined if the text is not JSON, or nested too deep. */
export function parseJson(text: string): unknown {
  if (isNestedTooDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Deeper JSON could overflow the stack of a recursive function, and takes a parser kilobytes for each level. */
export const deepestNesting = 500

/** Whether JSON is nested deeper than any use of it. */
export function isNestedTooDeep(text: string): boolean {
  if (text.length <= deepestNesting) return false
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > deepestNesting) return true
  }
  return false
}

/** The place of the quotation mark that ends a string. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let last = end - 1
    while (text[last] === '\\') last -= 1
    const isEscaped = (end - last) % 2 === 0
    if (!isEscaped) return end
  }
  return text.length
}
