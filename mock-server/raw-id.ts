/**
 * The text of the id of a request, as it was sent: JSON.parse rounds integers beyond 2^53. Undefined where the id is not a number, or where
 * the text is not an object. Of several ids the last one counts, as in JSON.parse.
 */
export function rawId(json: string): string | undefined {
  let depth = 0
  let found: string | undefined
  let name: string | undefined
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (depth === 1 && token === ':') {
      if (name === 'id') found = numberAt(json, index + 1)
    } else if (depth === 1) name = JSON.parse(token) as string
  }
  return found
}

/** Strings, and the signs of the structure outside of them. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g

const number = /\s*(-?\d[\d.eE+-]*)/y

function numberAt(json: string, index: number): string | undefined {
  number.lastIndex = index
  return number.exec(json)?.[1]
}
