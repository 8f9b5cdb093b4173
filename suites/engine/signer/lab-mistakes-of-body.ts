/** Mistakes in the signed body that only the diagnosis of a signature looks for: what languages make of a body. */
import { fromUtf8, toBase64, utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'
import {
  escapeAsDotNet,
  escapeMarksOfGson,
  isObject,
  type JsonObject,
  parseJson,
  styleOf,
  writeJson,
} from './json-styles.ts'
import { type KnownMistake, ofBody } from './mistake.ts'
import { reserialised, textOfBody } from './mistakes-of-body.ts'
import { prints, printValue, pythonBytes } from './printed-values.ts'

const floats = (value: number) => (Number.isInteger(value) ? `${value}.0` : JSON.stringify(value))

const styles: readonly KnownMistake[] = [
  reserialised('with-body-gson-escapes', 'with <, >, &, = and quotes escaped (as Gson of Java does)', {
    escape: escapeMarksOfGson,
  }),
  reserialised('with-body-dotnet-escapes', 'with escapes in upper-case hex (as System.Text.Json of .NET does)', {
    escape: escapeAsDotNet,
  }),
  reserialised('with-body-jackson-indented', 'with indentation and spaces around colons (as Jackson does)', {
    colon: ' : ',
    indent: '  ',
  }),
  reserialised('with-body-indented-by-tabs', 'with indentation by tabs', { colon: ': ', indent: '\t' }),
  reserialised('with-body-floats', 'with whole numbers as 1.0', { number: floats }),
]

const languages: [print: keyof typeof prints, what: string][] = [
  ['python', "a dict of Python (str(dict) gives {'a': 1})"],
  ['java', 'a Map of Java (toString() gives {a=1})'],
  ['go', 'a map of Go (fmt gives map[a:1])'],
  ['ruby', 'a Hash of Ruby (inspect gives {"a"=>1})'],
  ['ruby-3-4', 'a Hash of Ruby 3.4 (inspect gives {"a" => 1})'],
]

const printed: readonly KnownMistake[] = languages.map(([print, what]) =>
  textOfBody(`with-body-printed-by-${print}`, `the body is signed as the printed form of ${what}`, (text) => {
    const value = parseJson(utf8(text))
    return isObject(value) ? printValue(value, prints[print]) : text
  }),
)

const placeholders: readonly KnownMistake[] = [
  ['printed-by-javascript', '[object Object]'] as const,
  ['undefined', 'undefined'] as const,
  ['null', 'null'] as const,
  ['none', 'None'] as const,
  ['nil', 'nil'] as const,
  ['printed-by-php', 'Array'] as const,
  ['empty-object', '{}'] as const,
].map(([word, text]) => textOfBody(`with-body-${word}`, `the text ${text} is signed in place of the body`, () => text))

const texts: readonly KnownMistake[] = [
  ofBody('with-body-python-bytes', "the body is signed as Python prints bytes, b'…'", (raw) => utf8(pythonBytes(raw))),
  textOfBody('with-body-without-white-space', 'all white space is taken out of the body before it is signed', (text) =>
    text.replace(/\s+/g, ''),
  ),
  textOfBody('with-body-lower-case', 'the body is put in lower case before it is signed', (text) => text.toLowerCase()),
  textOfBody('with-body-upper-case', 'the body is put in upper case before it is signed', (text) => text.toUpperCase()),
  textOfBody('with-body-question-marks', 'the body is signed in ASCII, with a ? for every other character', (text) =>
    text.replace(/[^\0-\x7f]/gu, '?'),
  ),
  textOfBody('with-body-composed', 'the body is signed in Unicode form NFC', (text) => text.normalize('NFC')),
  textOfBody('with-body-decomposed', 'the body is signed in Unicode form NFD', (text) => text.normalize('NFD')),
  ofBody('with-body-hash-in-base64', 'the SHA-256 of the body is signed in its place, in BASE64', (raw) =>
    utf8(toBase64(sha256(raw))),
  ),
]

const values: readonly KnownMistake[] = [
  ofValue('with-id-as-text', 'the body is signed with its id as a text', (value) => ({ ...value, id: `${value.id}` })),
  ofValue('with-id-as-number', 'the body is signed with its id as a number', (value) => ({
    ...value,
    id: Number(value.id),
  })),
  ofValue('with-params-as-text', 'the params are JSON-encoded a second time', (value) => ({
    ...value,
    params: JSON.stringify(value.params ?? {}),
  })),
  ofValue('with-body-members-sorted', 'the body is signed with its members sorted', sorted),
  ofValue('without-nulls', 'the body is signed without its members that are null', withoutNulls),
]

export const labMistakesOfBody: readonly KnownMistake[] = [...styles, ...printed, ...placeholders, ...texts, ...values]

/** A change of the parsed body, written in the style of the body itself, so that it is the only difference. */
export function ofValue(word: string, when: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return ofBody(word, when, (raw) => {
    const value = parseJson(raw)
    return isObject(value) && fromUtf8(raw) !== null ? utf8(writeJson(change(value), styleOf(raw))) : null
  })
}

function sorted(value: JsonObject): JsonObject {
  const members = Object.keys(value).sort()
  return Object.fromEntries(
    members.map((name) => {
      const member = value[name] ?? null
      return [name, isObject(member) ? sorted(member) : member]
    }),
  )
}

function withoutNulls(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, isObject(member) ? withoutNulls(member) : member]))
}
