/** How languages print a parsed JSON value that was never serialised: str(dict), Map.toString(), fmt.Sprint. */
import { isObject, type Json } from './json-styles.ts'

interface Print {
  open: string
  close: string
  colon: string
  comma: string
  listComma: string
  names: (names: string[]) => string[]
  name: (name: string) => string
  text: (text: string) => string
  nothing: string
  yes: string
  no: string
}

const python: Print = {
  open: '{',
  close: '}',
  colon: ': ',
  comma: ', ',
  listComma: ', ',
  names: (names) => names,
  name: pythonText,
  text: pythonText,
  nothing: 'None',
  yes: 'True',
  no: 'False',
}

const java: Print = {
  ...python,
  colon: '=',
  name: (name) => name,
  text: (text) => text,
  nothing: 'null',
  yes: 'true',
  no: 'false',
}

const go: Print = {
  ...java,
  open: 'map[',
  close: ']',
  colon: ':',
  comma: ' ',
  listComma: ' ',
  names: (names) => [...names].sort(),
  nothing: '<nil>',
}

const ruby: Print = {
  ...java,
  colon: '=>',
  name: (name) => JSON.stringify(name),
  text: (text) => JSON.stringify(text),
  nothing: 'nil',
}

export const prints = { python, java, go, ruby, 'ruby-3-4': { ...ruby, colon: ' => ' } } as const

/** A value as a language prints it. */
export function printValue(value: Json, print: Print): string {
  if (value === null) return print.nothing
  if (typeof value === 'boolean') return value ? print.yes : print.no
  if (typeof value === 'string') return print.text(value)
  if (Array.isArray(value)) return `[${value.map((item) => printValue(item, print)).join(print.listComma)}]`
  if (!isObject(value)) return String(value)
  const members = print
    .names(Object.keys(value))
    .map((name) => print.name(name) + print.colon + printValue(value[name] ?? null, print))
  return print.open + members.join(print.comma) + print.close
}

const pythonEscapes: { [mark: string]: string } = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** repr() of a str: single quotes, unless the text has them and no double ones. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\\\n\r\t]/g, (mark) => pythonEscapes[mark] ?? mark)
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
}

/** repr() of bytes: `b'…'`, every byte that is not printable ASCII as an escape. */
export function pythonBytes(bytes: Uint8Array): string {
  const marks = Array.from(bytes, (byte) => {
    const mark = String.fromCharCode(byte)
    if (pythonEscapes[mark] !== undefined) return pythonEscapes[mark]
    return byte >= 0x20 && byte < 0x7f ? mark : `\\x${byte.toString(16).padStart(2, '0')}`
  })
  const text = marks.join('')
  return text.includes("'") && !text.includes('"') ? `b"${text}"` : `b'${text.replaceAll("'", "\\'")}'`
}
