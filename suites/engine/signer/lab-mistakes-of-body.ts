/** Mistakes in the signed body that only the diagnosis of a signature looks for: what languages make of a body. */
import { fromUtf8, toBase64, utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'
import {
  compact,
  escapeAsDotNet,
  escapeMarksOfGson,
  isObject,
  type JsonObject,
  parseJson,
  styleOf,
  writeJson,
} from './json-styles.ts'
import type { KnownMistake } from './mistake.ts'
import { bytesOfBody, reserialised, textOfBody } from './mistakes-of-body.ts'
import { prints, printValue, pythonBytes } from './printed-values.ts'

const floats = (value: number) => (Number.isInteger(value) ? `${value}.0` : JSON.stringify(value))

const styles: readonly KnownMistake[] = [
  reserialised(
    { word: 'with-body-gson-escapes', how: 'with <, >, &, = and quotes escaped (as Gson of Java does)' },
    { ...compact, escape: escapeMarksOfGson },
  ),
  reserialised(
    { word: 'with-body-dotnet-escapes', how: 'with escapes in upper-case hex (as System.Text.Json of .NET does)' },
    { ...compact, escape: escapeAsDotNet },
  ),
  reserialised(
    { word: 'with-body-jackson-indented', how: 'with indentation and spaces around colons (as Jackson does)' },
    { ...compact, colon: ' : ', indent: '  ' },
  ),
  reserialised(
    { word: 'with-body-indented-by-tabs', how: 'with indentation by tabs' },
    { ...compact, colon: ': ', indent: '\t' },
  ),
  reserialised({ word: 'with-body-floats', how: 'with whole numbers as 1.0' }, { ...compact, number: floats }),
]

const languages: [print: keyof typeof prints, what: string][] = [
  ['python', "a dict of Python (str(dict) gives {'a': 1})"],
  ['java', 'a Map of Java (toString() gives {a=1})'],
  ['go', 'a map of Go (fmt gives map[a:1])'],
  ['ruby', 'a Hash of Ruby (inspect gives {"a"=>1})'],
  ['ruby-3-4', 'a Hash of Ruby 3.4 (inspect gives {"a" => 1})'],
]

const printed: readonly KnownMistake[] = languages.map(([print, what]) =>
  textOfBody(
    `with-body-printed-by-${print}`,
    `The body was signed as the printed form of ${what}`,
    `the body is signed as the printed form of ${what}`,
    (text) => {
      const value = parseJson(utf8(text))
      return isObject(value) ? printValue(value, prints[print]) : text
    },
  ),
)

const placeholders: readonly KnownMistake[] = [
  ['printed-by-javascript', '[object Object]'] as const,
  ['undefined', 'undefined'] as const,
  ['null', 'null'] as const,
  ['none', 'None'] as const,
  ['nil', 'nil'] as const,
  ['printed-by-php', 'Array'] as const,
  ['empty-object', '{}'] as const,
].map(([word, text]) =>
  textOfBody(
    `with-body-${word}`,
    `The text ${text} was signed in place of the body`,
    `the text ${text} is signed in place of the body`,
    () => text,
  ),
)

const texts: readonly KnownMistake[] = [
  bytesOfBody(
    'with-body-python-bytes',
    "The body was signed as Python prints bytes, b'…'",
    "the body is signed as b'…'",
    (raw) => utf8(pythonBytes(raw)),
  ),
  textOfBody(
    'with-body-without-white-space',
    'All white space was taken out of the body before it was signed',
    'all white space is taken out of the body',
    (text) => text.replace(/\s+/g, ''),
  ),
  textOfBody(
    'with-body-lower-case',
    'The body was put in lower case before it was signed',
    'the body is put in lower case',
    (text) => text.toLowerCase(),
  ),
  textOfBody(
    'with-body-upper-case',
    'The body was put in upper case before it was signed',
    'the body is put in upper case',
    (text) => text.toUpperCase(),
  ),
  textOfBody(
    'with-body-question-marks',
    'The body was signed in ASCII, with a ? for every other character',
    'the body is signed in ASCII',
    (text) => text.replace(/[^\0-\x7f]/gu, '?'),
  ),
  textOfBody(
    'with-body-composed',
    'The body was brought into Unicode form NFC before it was signed',
    'the body is signed in NFC',
    (text) => text.normalize('NFC'),
  ),
  textOfBody(
    'with-body-decomposed',
    'The body was brought into Unicode form NFD before it was signed',
    'the body is signed in NFD',
    (text) => text.normalize('NFD'),
  ),
  bytesOfBody(
    'with-body-hash-in-base64',
    'The SHA-256 of the body, in BASE64, was signed in its place',
    'the SHA-256 of the body is signed in BASE64',
    (raw) => utf8(toBase64(sha256(raw))),
  ),
]

const values: readonly KnownMistake[] = [
  ofValue('with-id-as-text', 'The body was signed with its id as a text', (value) => ({ ...value, id: `${value.id}` })),
  ofValue('with-id-as-number', 'The body was signed with its id as a number', (value) => ({
    ...value,
    id: Number(value.id),
  })),
  ofValue('with-params-as-text', 'The params were JSON-encoded a second time', (value) => ({
    ...value,
    params: JSON.stringify(value.params ?? {}),
  })),
  ofValue('with-body-members-sorted', 'The body was signed with its members sorted', sorted),
  ofValue('without-nulls', 'The body was signed without its members that are null', withoutNulls),
]

export const labMistakesOfBody: readonly KnownMistake[] = [...styles, ...printed, ...placeholders, ...texts, ...values]

function ofValue(word: string, title: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return bytesOfBody(word, title, title.replace(' was ', ' is ').replace('The ', 'the '), (raw) => {
    const value = parseJson(raw)
    if (!isObject(value) || fromUtf8(raw) === null) return null
    const style = styleOf(raw)
    return utf8(writeJson(change(value), style))
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
