/** Reads the bytes of a call: its own parser, shared with no server. What is read is looked up in what the model knows. */
import { isObject, type JsonObject } from '../json.ts'
import { fromBase64Strict, fromUtf8, percentDecoded, utf8 } from '../signer/bytes.ts'
import type { Call, Key, Pair, State, Terms } from './state.ts'

/** A call, and what its credentials stand for. */
export interface ReadCall {
  readonly call: Call
  readonly body: ReadBody
  readonly auth: Authorization
  /** The params, where they are an object. */
  readonly params: JsonObject | undefined
  /** The access token, or for a grant the refresh token, that is presented. */
  readonly token: string | undefined
  /** The pair that it stands for. */
  readonly found: FoundPair | undefined
  /** The id of the key that signs, or whose secret is given; undefined where a token is presented. */
  readonly keyId: string | undefined
  readonly key: Key | undefined
  /** False: another spelling of its id, which may be the same to a server. */
  readonly isKeyExact: boolean
  /** The scope of the caller; null: every scope. */
  readonly scope: readonly string[] | null
}

/** The latest, because facts, shape and learning read one call in a row. */
let latest: { readonly state: State; readonly read: ReadCall } | undefined

export function readCall(state: State, call: Call): ReadCall {
  if (latest?.state !== state || latest.read.call !== call) latest = { state, read: lookedUp(state, call) }
  return latest.read
}

function lookedUp(state: State, call: Call): ReadCall {
  const body = readBody(call.body)
  const auth = authorizationOf(state, call)
  const params = isObject(body.params) ? body.params : undefined
  const isGrant = body.method === 'manager/auth'
  const token = isGrant ? presentedToken(params ?? {}) : auth.kind === 'token' ? auth.token : undefined
  const found = findPair(state, token, isGrant ? 'refresh' : 'access')
  const written = isGrant ? keyOfGrant(params ?? {}) : idOf(auth)
  const key = findKey(state, written)
  const keyId = key?.id ?? written
  const isKeyExact = keyId === written
  const scope = auth.kind === 'token' ? (found?.pair.scope ?? []) : key === undefined ? [] : key.scope
  return { call, body, auth, params, token, found, keyId, key, isKeyExact, scope }
}

/** The key that authorizes a call; undefined if a token does. */
export const keyIdOf = (state: State, call: Call): string | undefined => readCall(state, call).keyId

function idOf(auth: Authorization): string | undefined {
  if (auth.kind === 'basic') return auth.id
  return auth.kind === 'signature' ? auth.fields[0] : undefined
}

function keyOfGrant(params: JsonObject): string | undefined {
  const { apiKeyId } = params
  return presentedToken(params) === undefined && typeof apiKeyId === 'string' ? apiKeyId : undefined
}

/** What a call presents, as far as it can be read without knowing the target: the id of a key, and what may be tokens. */
export function presentedIn({ authorization = '', body }: Pick<Call, 'authorization' | 'body'>) {
  const { method, params } = readBody(body)
  const grant = method === 'manager/auth' && isObject(params) ? params : {}
  const [, word = '', rest = authorization] = /^(\S+) +(.*)$/s.exec(authorization) ?? []
  const [id] = word.toLowerCase() === 'basic' ? looseBytes(rest).split(':') : rest.includes(';') ? rest.split(';') : []
  return {
    keyId: keyOfGrant(grant) ?? id,
    refreshToken: presentedToken(grant),
    accessToken: id === undefined && rest !== '' ? rest : undefined,
  }
}

/** Part 4.2: the grant type selects, so a refresh token beside other credentials does not count. */
function presentedToken({ grantType, refreshToken }: JsonObject): string | undefined {
  return grantType !== 'api_key_credentials' && typeof refreshToken === 'string' ? refreshToken : undefined
}

/** The key that an id may stand for: how ids are compared is open (keys/id-spelling). */
function findKey({ keys }: State, id: string | undefined): Key | undefined {
  if (id === undefined) return undefined
  const exact = keys.get(id)
  if (exact !== undefined) return exact
  const look = lookOfId(id)
  return look === '' ? undefined : [...keys.values()].find((key) => lookOfId(key.id) === look)
}

/** Two ids of one look may be the same to a server that ignores case and white space, or reads them as UUIDs. */
const lookOfId = (id: string): string =>
  id
    .normalize('NFKC')
    .trim()
    .toLowerCase()
    .replace(/^urn:uuid:|[{}-]/g, '')

interface FoundPair {
  readonly pair: Pair
  /** False: another spelling of the token, which may be the same to a server. */
  readonly exact: boolean
}

/** The pair that a text may stand for. */
export function findPair(state: State, text: string | undefined, which: 'access' | 'refresh'): FoundPair | undefined {
  if (text === undefined) return undefined
  const exact = state[which].get(text)
  const pair = exact === undefined ? undefined : state.pairs.get(exact)
  if (pair !== undefined) return { pair, exact: true }
  for (const look of looksOf(text)) {
    const other = state.pairs.get(state.looks.get(`${which} ${look}`) ?? -1)
    if (other !== undefined) return { pair: other, exact: false }
  }
  // Whether a token with something appended works is open, too (tokens/spelling).
  for (const length of state.tokenLengths) {
    if (length < shortestToken || length > text.length) continue
    const longer = state.pairs.get(state[which].get(text.slice(0, length)) ?? -1)
    if (longer !== undefined) return { pair: longer, exact: false }
  }
  return undefined
}

/** Shorter tokens may begin another one by chance. */
const shortestToken = 12

/** Part 5: what the Authorization header says. `plain` is false where the spelling differs from the document's in an open way. */
type Authorization =
  | { kind: 'none' }
  | { kind: 'signature'; fields: string[]; plain: boolean }
  | { kind: 'basic'; id: string; secret: string; plain: boolean }
  | { kind: 'malformed-basic' }
  | { kind: 'token'; token: string; plain: boolean }
  | { kind: 'other-scheme' }

/** The header of a call, read with the known tokens. */
export function authorizationOf(state: State, call: Call): Authorization {
  const isToken = (text: string): boolean =>
    findPair(state, text, 'access') !== undefined || findPair(state, text, 'refresh') !== undefined
  return readAuthorization(call.authorization, state.terms, isToken)
}

/** Part 5.1 to 5.3. `isToken` knows the texts that may be a token: the word before it is open. */
function readAuthorization(
  header: string | undefined,
  terms: Terms,
  isToken: (text: string) => boolean,
): Authorization {
  if (header === undefined) return { kind: 'none' }
  // HTTP takes spaces and tabs away; whether a server takes other white space away, such as a no-break space, is open.
  const bare = header.replace(/^[ \t]+|[ \t]+$/g, '')
  const value = bare.trim()
  const [, word = '', gap = '', rest = ''] = /^(\S*)([ \t]*)(.*)$/s.exec(value) ?? []
  const oneSpace = gap === ' ' && value === bare
  if (word.toLowerCase() === terms.scheme.toLowerCase())
    return { kind: 'signature', fields: rest.split(';'), plain: oneSpace && word === terms.scheme }
  if (word.toLowerCase() === 'basic' && !isToken(rest)) return readBasic(rest, oneSpace && word === 'Basic')
  if (terms.tokenPrefix !== null && word === terms.tokenPrefix && word !== '')
    return { kind: 'token', token: rest, plain: oneSpace }
  if (isToken(value)) return { kind: 'token', token: value, plain: terms.tokenPrefix === '' }
  if (isToken(rest)) return { kind: 'token', token: rest, plain: false }
  return { kind: 'other-scheme' }
}

/** BASE64 without the marks that fill up its last four characters. */
export const unpadded = (text: string): string => text.replace(/=+$/, '')

/** Part 5.2: BASE64(id:secret). The amount of padding is open; anything else that only a forgiving decoder reads is malformed. */
function readBasic(blob: string, plain: boolean): Authorization {
  const bytes = fromBase64Strict(blob)
  const bare = unpadded(blob)
  const padded = bytes ?? fromBase64Strict(bare.padEnd(Math.ceil(bare.length / 4) * 4, '='))
  const text = padded === null ? null : fromUtf8(padded)
  const colon = text?.indexOf(':') ?? -1
  if (text === null || colon < 0) return { kind: 'malformed-basic' }
  return { kind: 'basic', id: text.slice(0, colon), secret: text.slice(colon + 1), plain: plain && bytes !== null }
}

/** FNV-1a over the text without its id. */
function formOf(body: string): string {
  let hash = 0x811c9dc5
  for (const letter of body.replace(/"id":\s*\d+/, ''))
    hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return `form ${hash.toString(36)}`
}

interface ReadBody {
  /** False: not JSON. */
  readonly json: boolean
  readonly method: unknown
  readonly params: unknown
  readonly id: unknown
  readonly members: JsonObject | null
  /** Something about the text is open: a byte order mark, the spelling of the id, the letter case of a name, or a member that is written twice. */
  readonly isOdd: boolean
  /** A member is written twice: which of the two counts is open (envelope/duplicate-members). */
  readonly isTwofold: boolean
  readonly bytes: number
  /** The text, its id apart: bodies of one form are taken alike. */
  readonly form: string
}

/** An integer to some parsers, and a floating point number to those that tell the two apart by their spelling (envelope/id-types). */
const idWithFractionOrExponent = /"id"\s*:\s*-?\d+[.eE]/

/** Caches the latest body, because a call is read several times in a row. */
let last: { readonly body: string; readonly read: ReadBody } | undefined

/** Part 1: the request envelope. */
export function readBody(body: string): ReadBody {
  if (last?.body === body) return last.read
  const read = readAlike(body)
  last = { body, read }
  return read
}

/** How nearly all bodies begin. */
const beginning = /^\{"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14}),/
/** What was read of bodies that begin so, by what follows: most calls differ from others in their ids alone. */
const readByRest = new Map<string, { readonly read: ReadBody; readonly headLength: number }>()
/** How many bodies, and how many looks, are kept; longer texts are not. */
const mostKept = 200
const longestKept = 2000

function readAlike(body: string): ReadBody {
  const [head, digits] = beginning.exec(body) ?? []
  if (head === undefined || body.length > longestKept) return parseBody(body)
  const rest = body.slice(head.length)
  const known = readByRest.get(rest)
  if (known !== undefined) {
    const { read, headLength } = known
    const id = Number(digits)
    return {
      ...read,
      id,
      members: read.members && { ...read.members, id },
      bytes: read.bytes + head.length - headLength,
    }
  }
  if (readByRest.size >= mostKept) readByRest.clear()
  const read = parseBody(body)
  // A second id would count instead, and what is no JSON has none.
  if (read.members !== null && !read.isOdd) readByRest.set(rest, { read, headLength: head.length })
  return read
}

function parseBody(body: string): ReadBody {
  const isTwofold = hasDuplicateMembers(body)
  const text = { isOdd: isTwofold, isTwofold, bytes: utf8(body).length, form: formOf(body) }
  const nothing = { method: undefined, params: undefined, id: undefined, members: null, ...text }
  try {
    // Whether a byte order mark in front matters is open (envelope/encoding).
    const marked = body.startsWith('\ufeff')
    const value: unknown = JSON.parse(marked ? body.slice(1) : body)
    if (!isObject(value)) return { json: true, ...nothing }
    const members = folded(value)
    const { method, params: written, id } = members
    const params = isObject(written) ? folded(written) : written
    const isFolded = members !== value || params !== written
    const isOdd = marked || isFolded || isTwofold || idWithFractionOrExponent.test(body)
    return { json: true, ...nothing, method, params, id, members, isOdd }
  } catch {
    return { json: false, ...nothing }
  }
}

const memberNames = new Map(
  'jsonrpc id method params grantType apiKeyId apiKeySecret scope refreshToken name publicKey'
    .split(' ')
    .map((name) => [name.toLowerCase(), name]),
)

const spelled = (name: string): string => memberNames.get(name.toLowerCase()) ?? name

/** The same object where all names are written as in the document. Whether another letter case counts is open (envelope/member-case). */
function folded(object: JsonObject): JsonObject {
  if (Object.keys(object).every((name) => spelled(name) === name)) return object
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [spelled(name), value]))
}

// Other spellings of a value. Whether a server accepts them is open (how tokens compare; unpadded base64).

/** The bytes, one character each, that a forgiving base64 decoder reads: foreign characters are skipped, padding ends the text. */
export function looseBytes(text: string): string {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/')
  const letters = (plain.split('=')[0] ?? '').replace(/[^A-Za-z0-9+/]/g, '')
  return atob(letters.length % 4 === 1 ? letters.slice(0, -1) : letters)
}

const keptLooks = new Map<string, readonly string[]>()

/** The looks of a text: two texts that share one may be the same value to a server that decodes, trims or ignores case (tokens/spelling). */
export function looksOf(text: string): readonly string[] {
  // The credentials of one key are looked up with every call.
  const kept = keptLooks.get(text)
  if (kept !== undefined) return kept
  if (keptLooks.size >= mostKept) keptLooks.clear()
  const looks = looksIn(text)
  if (text.length <= longestKept) keptLooks.set(text, looks)
  return looks
}

function looksIn(text: string): string[] {
  const plain = percentDecoded(text).normalize('NFKC').trim()
  const skipping = text.replaceAll('=', '')
  return [
    `plain ${plain}`,
    `folded ${plain.toLowerCase()}`,
    // A JWT is decoded part by part.
    `bytes ${text.split('.').map(looseBytes).join('.')}`,
    `bytes ${skipping.split('.').map(looseBytes).join('.')}`,
    `bytes ${looseBytes(text)}`,
    `ascii ${plain.replace(/[^\x21-\x7e]/g, '')}`,
  ]
}

/** Whether a body writes a member of one object twice, perhaps in another letter case. */
function hasDuplicateMembers(json: string): boolean {
  const open: Set<string>[] = []
  const marks = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g
  for (const [mark, colon] of json.matchAll(marks)) {
    if (mark === '{') open.push(new Set())
    else if (mark === '}') open.pop()
    else if (colon !== undefined) {
      const name = spelled(unescaped(mark.slice(0, mark.lastIndexOf('"') + 1)))
      const names = open.at(-1)
      if (names?.has(name)) return true
      names?.add(name)
    }
  }
  return false
}

function unescaped(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}
