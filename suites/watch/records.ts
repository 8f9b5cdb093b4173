/**
 * Recorded traffic: lines of JSON as `watch --save`, the recording and the journal of the reference server and `serve` write them, and HAR 1.2
 * as browsers, proxies and test drivers write it. What a record lacks is never guessed: it stays unknown, and is said once.
 */
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import type { Exchange } from '../client/journal.ts'
import { callPath, isDocumentedMethod } from '../engine/document.ts'
import { SuiteError } from '../engine/errors.ts'
import { countBy, counted } from '../engine/group.ts'
import { isObject, type JsonObject, membersOf, parseJson } from '../engine/json.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { Fact } from '../engine/model/state.ts'
import { fromBase64Loose, fromUtf8, utf8 } from '../engine/signer/bytes.ts'

/** One call of the interface as it was seen. SECRETS INCLUDED. */
export interface Observed extends Exchange {
  /** The client's address; empty if it is not known. */
  address: string
  /** Its start and its end among all, so that calls at the same time are told from those one after another. */
  order: Span
  /** What the record does not show. */
  unknown: readonly Unknown[]
  /** Whether the bytes of the request are those that were sent. */
  isExact: boolean
  /** Only who called and what was issued is known, as in the journal of the reference server. */
  isSummary?: true
  /** Why a proxy answered instead of the server. */
  oursBecause?: string
  /** What was found about its signature when its secret was known: a saved file has marks instead of secrets. */
  signature?: Fact
}

type Unknown = 'authorization' | 'body' | 'answer'

/** A key that a file names. The secret of a saved file is its mark. */
export type NamedKey = { id: string; secret: string } | { id: string; publicKey: Uint8Array }

/** A call as a proxy saw it, flat and not yet read: it goes to another thread. Headers are names and values in turn, bodies are latin1. */
export interface Seen
  extends Pick<
    Observed,
    | 'number'
    | 'connection'
    | 'startedMs'
    | 'receivedMs'
    | 'answeredMs'
    | 'deliveredMs'
    | 'order'
    | 'httpMethod'
    | 'target'
  > {
  remoteAddress: string
  headers: readonly string[]
  body: string
  bodyBytes: number
  answer: { status: number; headers: readonly string[]; body: string; bodyBytes: number } | null
  because: string | undefined
}

interface Traffic {
  observed: Observed[]
  keys: NamedKey[]
  /** What is missing, each with what it would have shown. */
  lacks: string[]
  /** Entries that are no calls of the interface. */
  others: number
}

/**
 * Reads one file.
 *
 * @param file its name, for errors
 * @param url the base URL of the server, where the user names it; otherwise the one that most calls of the documented methods went to
 * @throws SuiteError (`fixture`) that names the line or the entry
 */
export function readTraffic(text: string, file: string, url?: string): Traffic {
  const whole = /^\s*\{/.test(text) ? parseJson(text) : undefined
  const log = membersOf(whole).log
  return log === undefined ? readLines(text, file) : readHar(log, file, url)
}

const fail = (file: string, where: string, problem: string): SuiteError =>
  new SuiteError('fixture', `Cannot judge ${file}${where}: ${problem}`)

// ---- lines of JSON

function readLines(text: string, file: string): Traffic {
  const traffic: Traffic = { observed: [], keys: [], lacks: [], others: 0 }
  const places = new Map<string, number>()
  let summaries = 0
  // A record that was cut off while it was written, as by SIGKILL, is said and left out; everything before it is whole.
  const lines = text.replace(/^\ufeff/, '').split('\n')
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    const value = parseJson(line)
    if (value === undefined && at === lines.length - 1) {
      traffic.lacks.push(`The last line of ${file} was cut off while it was written, so its call is not judged`)
      continue
    }
    const where = `:${at + 1}`
    if (!isObject(value)) throw fail(file, where, 'expected a JSON object, or a HAR file')
    if (Array.isArray(value.keys)) traffic.keys.push(...value.keys.flatMap((key) => namedKey(key)))
    else if (typeof value.apiKeyId === 'string')
      traffic.keys.push(...namedKey({ id: value.apiKeyId, secret: value.apiKeySecret }))
    else if (typeof value.target === 'string') {
      const observed = fromRecord(value, file, where)
      // "watch" writes a call again when a later one shows whether its signature is right.
      const name = Array.isArray(value.order) ? JSON.stringify([value.number, value.startedMs, value.order]) : `${at}`
      if (!isCall(observed)) traffic.others += 1
      else if (places.has(name)) traffic.observed[places.get(name) ?? 0] = observed
      else places.set(name, traffic.observed.push(observed) - 1)
    } else if (typeof value.verdict === 'string' && typeof value.path === 'string') {
      summaries += 1
      const observed = fromJournal(value)
      if (observed === null) traffic.others += 1
      else traffic.observed.push(observed)
    } else
      throw fail(
        file,
        where,
        'expected an exchange ("target", "headers", …) or an entry of a journal ("path", "verdict", …)',
      )
  }
  if (summaries > 0)
    traffic.lacks.push(
      `${counted(summaries, 'entry', 'entries')} of a journal: bodies, signatures and answers are missing, so only refreshes, revoked pairs and retries can be judged; "watch --save" keeps the rest`,
    )
  return traffic
}

function namedKey(key: unknown): NamedKey[] {
  const { id, secret, publicKey } = membersOf(key)
  if (typeof id !== 'string') return []
  const bytes = typeof publicKey === 'string' ? fromBase64Loose(publicKey) : null
  if (bytes !== null) return [{ id, publicKey: bytes }]
  return typeof secret === 'string' ? [{ id, secret }] : []
}

/** A POST, or an attempt at one, to the path of the interface. */
export const isCall = ({ target }: Pick<Observed, 'target'>): boolean => target.replace(/[?#].*$/, '') === callPath

/** @throws SuiteError where a member that every record has is missing */
function fromRecord(record: JsonObject, file: string, where: string): Observed {
  const number = (name: string): number | null => {
    const value = record[name]
    if (value === null || value === undefined) return null
    if (typeof value !== 'number') throw fail(file, where, `"${name}" is not a number`)
    return value
  }
  const startedMs = number('startedMs')
  if (startedMs === null) throw fail(file, where, '"startedMs" is missing: the order of the calls is not known')
  const { headers, order } = record
  if (!Array.isArray(headers)) throw fail(file, where, '"headers" is not a list of [name, value]')
  const body = bytesOf(record.body, record.encoding)
  const answer = isObject(record.answer) ? record.answer : null
  const answeredMs = number('answeredMs')
  const bodyBytes = number('bodyBytes') ?? body.length
  const signature = membersOf(record.signature)
  return {
    number: number('number') ?? 0,
    connection: number('connection') ?? 0,
    address: textOf(record.address),
    startedMs,
    receivedMs: 'receivedMs' in record ? number('receivedMs') : startedMs,
    answeredMs,
    deliveredMs: 'deliveredMs' in record ? number('deliveredMs') : answeredMs,
    order:
      Array.isArray(order) && order.every((one) => typeof one === 'number')
        ? { from: order[0] ?? startedMs, to: order[1] ?? startedMs }
        : { from: startedMs, to: answeredMs ?? Number.POSITIVE_INFINITY },
    httpMethod: textOf(record.httpMethod),
    target: textOf(record.target),
    headers: headers.map((pair): [string, string] => [String(pair?.[0]), String(pair?.[1])]),
    body,
    bodyBytes,
    answer:
      answer === null
        ? null
        : {
            status: Number(answer.status),
            headers: membersOf(answer.headers) as { [name: string]: string },
            body: textOf(answer.body),
          },
    faults: Array.isArray(record.faults) ? record.faults.map(String) : [],
    unknown: Array.isArray(record.unknown) ? (record.unknown as Unknown[]) : [],
    isExact: body.length === bodyBytes && record.isExact !== false,
    ...(record.isSummary === true ? { isSummary: true } : {}),
    ...(typeof record.oursBecause === 'string' ? { oursBecause: record.oursBecause } : {}),
    ...(typeof signature.requirement === 'string' ? { signature: signature as unknown as Fact } : {}),
    ...(isObject(record.signed) ? { signed: record.signed as unknown as NonNullable<Exchange['signed']> } : {}),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A text, its BASE64, or a Buffer as JSON writes it. */
function bytesOf(value: unknown, encoding: unknown): Uint8Array {
  const { data } = membersOf(value)
  if (Array.isArray(data)) return Uint8Array.from(data as number[])
  return (encoding === 'base64' ? fromBase64Loose(textOf(value)) : null) ?? utf8(textOf(value))
}

/** A call of which the journal of the reference server tells who made it and what was issued: its tokens are the names of their pairs. */
function fromJournal(entry: JsonObject): Observed | null {
  const { number, timeMs, httpMethod, path, remoteAddress, status, verdict, method, grantType, keyId, pair, issued } =
    entry
  if (path !== callPath || typeof timeMs !== 'number') return null
  const isRefresh = grantType === 'refresh_token'
  const params = {
    ...(typeof grantType === 'string' ? { grantType } : {}),
    ...(isRefresh ? { refreshToken: `refresh-of-${pair}` } : {}),
    ...(grantType === 'api_key_credentials' ? { apiKeyId: keyId, scope: [] } : {}),
  }
  const body = utf8(JSON.stringify({ jsonrpc: '2.0', id: number, method, params }))
  const isToken = pair !== undefined && method !== 'manager/auth'
  const tokens = { accessToken: `access-of-${issued}`, refreshToken: `refresh-of-${issued}` }
  const result = issued === undefined ? {} : tokens
  const answer = verdict === 'accepted' ? { jsonrpc: '2.0', id: number, result } : { error: { message: entry.stage } }
  return {
    number: Number(number),
    connection: 0,
    address: textOf(remoteAddress),
    startedMs: timeMs,
    receivedMs: timeMs,
    answeredMs: timeMs,
    deliveredMs: verdict === 'faulted' ? null : timeMs,
    // The journal is written in the order of the server's own work.
    order: { from: Number(number), to: Number(number) + 0.5 },
    httpMethod: textOf(httpMethod),
    target: callPath,
    headers: [
      ['content-type', 'application/json'],
      ...(isToken ? [['authorization', `Bearer access-of-${pair}`] as [string, string]] : []),
    ],
    body,
    bodyBytes: body.length,
    answer: { status: Number(status), headers: {}, body: JSON.stringify(answer) },
    faults: Array.isArray(entry.faults) ? entry.faults.map(String) : [],
    unknown: isToken || method === 'manager/auth' ? [] : ['authorization'],
    isExact: false,
    isSummary: true,
  }
}

// ---- HAR 1.2

/** Times of a HAR are rounded, so calls closer than this may have been at the same time. In ms. */
const harSlackMs = 5

/** What entries of a HAR lack: what is missing, and what it would have shown. */
const lackTexts = {
  body: 'the body of the request is missing or cut short, so the call cannot be judged',
  bytes: 'the length of the body is not that of its text, so signatures over it cannot be judged',
  authorization:
    'no Authorization header is recorded, as in a HAR without sensitive data: who called, and whether it was authorized, cannot be judged',
  answer:
    'the body of the answer is missing or cut short, so the answer cannot be judged, and what it issued is not known',
} as const

function readHar(log: unknown, file: string, url: string | undefined): Traffic {
  const { entries } = membersOf(log)
  if (!Array.isArray(entries)) throw fail(file, '', 'a HAR file has "log.entries", a list')
  const all = entries.map((entry, at) => readEntry(entry, file, at + 1))
  const base = url ?? baseOf(all)
  const calls = all.filter((entry) => base !== undefined && entry.url === base + callPath)
  // Tools that leave out sensitive data leave out every such header.
  const hasHeaders = all.some(({ headers }) => headers.some(([name]) => name.toLowerCase() === 'authorization'))
  const observed = calls
    .sort((one, other) => one.startedMs - other.startedMs)
    .map((entry, at) => fromEntry(entry, at + 1, hasHeaders))
  const lacks = countBy(observed.flatMap(lacksOf), (lack) => lack)
  return {
    observed,
    keys: [],
    lacks: [...lacks].map(([lack, count]) => `In ${counted(count, 'entry', 'entries')} of ${file} ${lackTexts[lack]}`),
    others: all.length - calls.length,
  }
}

/** What a call lacks that a HAR could have told. */
function lacksOf({ body, unknown, isExact }: Observed): (keyof typeof lackTexts)[] {
  const isGrant = methodOf(body) === 'manager/auth'
  return [
    ...(isExact || unknown.includes('body') ? [] : ['bytes' as const]),
    ...unknown.filter((one) => one !== 'authorization' || !isGrant),
  ]
}

const methodOf = (body: Uint8Array): unknown => membersOf(parseJson(fromUtf8(body) ?? '')).method

type Entry = ReturnType<typeof readEntry>

function readEntry(entry: unknown, file: string, place: number) {
  const { startedDateTime, time, request, response, connection, _clientAddress } = membersOf(entry)
  const where = `, entry ${place}`
  if (!isObject(request) || typeof request.url !== 'string') throw fail(file, where, 'expected "request" with a "url"')
  const startedMs = Date.parse(textOf(startedDateTime))
  if (Number.isNaN(startedMs))
    throw fail(file, where, '"startedDateTime" is not a time, so the order of the calls is not known')
  const [whole = '', query = ''] = request.url.split(/(?=[?#])/, 2)
  return {
    url: whole,
    query,
    method: textOf(request.method),
    startedMs,
    timeMs: typeof time === 'number' && time > 0 ? time : 0,
    headers: headerPairs(request.headers),
    request,
    response: membersOf(response),
    connection: String(connection ?? ''),
    address: textOf(_clientAddress),
  }
}

const headerPairs = (headers: unknown): [string, string][] =>
  Array.isArray(headers)
    ? headers.flatMap((header): [string, string][] => {
        const { name, value } = membersOf(header)
        // Pseudo-headers of HTTP/2.
        return typeof name !== 'string' || name.startsWith(':') ? [] : [[name, textOf(value)]]
      })
    : []

/** The base URL to which most calls of the documented methods went, or most calls of `/api`: a page talks to other sites too. */
function baseOf(entries: readonly Entry[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { url, method, request } of entries) {
    if (method !== 'POST' || !url.endsWith(callPath)) continue
    const { text, encoding } = membersOf(request.postData)
    const base = url.slice(0, -callPath.length)
    const isDocumented = isDocumentedMethod(String(methodOf(bytesOf(text, encoding))))
    counts.set(base, (counts.get(base) ?? 0) + (isDocumented ? entries.length : 1))
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0]
}

/** 0: not known. Some tools write the port of the server there, which all connections share. */
function connectionOf({ url, connection }: Entry): number {
  const { protocol = '', port = '' } = URL.canParse(url) ? new URL(url) : {}
  const ofServer = port || (protocol === 'https:' ? '443' : '80')
  return connection === ofServer ? 0 : Number(connection) || 0
}

function fromEntry(entry: Entry, number: number, hasHeaders: boolean): Observed {
  const { startedMs, timeMs, headers, request, response, query } = entry
  const { body, bodyBytes, isExact } = bodyOfEntry(request, headers)
  const { answer, isWhole } = answerOfEntry(response)
  const answeredMs = answer === null ? null : startedMs + timeMs
  return {
    number,
    connection: connectionOf(entry),
    address: entry.address,
    startedMs,
    receivedMs: startedMs,
    answeredMs,
    deliveredMs: answeredMs,
    order: { from: startedMs - harSlackMs, to: (answeredMs ?? Number.POSITIVE_INFINITY) + harSlackMs },
    httpMethod: entry.method,
    target: callPath + query,
    headers,
    body,
    bodyBytes,
    answer,
    faults: [],
    unknown: partsWhere({
      body: body.length < bodyBytes,
      // Browsers show provisional headers of requests that an extension or a cache answered.
      authorization: !hasHeaders || headers.length < 2,
      answer: !isWhole,
    }),
    isExact,
  }
}

const partsWhere = (isUnknown: { [part in Unknown]?: boolean }): Unknown[] =>
  (Object.keys(isUnknown) as Unknown[]).filter((part) => isUnknown[part])

function bodyOfEntry(
  request: JsonObject,
  headers: readonly [string, string][],
): Pick<Observed, 'body' | 'bodyBytes' | 'isExact'> {
  const { text, encoding } = membersOf(request.postData)
  const body = bytesOf(text, encoding)
  const header = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
  const announced = header ?? request.bodySize
  const length = Number(announced ?? -1)
  const isKnown =
    announced !== undefined && Number.isInteger(length) && length >= 0 && !(length === 0 && header === undefined)
  return {
    body,
    bodyBytes: isKnown ? Math.max(length, body.length) : body.length,
    // A body with this mark held bytes that the recorder could not read.
    isExact: isKnown && length === body.length && !textOf(text).includes('\ufffd'),
  }
}

function answerOfEntry(response: JsonObject): { answer: Observed['answer']; isWhole: boolean } {
  const status = Number(response.status ?? 0)
  // Aborted, blocked or from a cache without an answer.
  if (!(status > 0)) return { answer: null, isWhole: true }
  const { text, encoding, size } = membersOf(response.content)
  const bytes = bytesOf(text, encoding)
  const isCut = (typeof text !== 'string' && size !== 0) || (typeof size === 'number' && bytes.length < size)
  const headers = Object.fromEntries(headerPairs(response.headers).map(([name, value]) => [name.toLowerCase(), value]))
  return { answer: { status, headers, body: fromUtf8(bytes) ?? '' }, isWhole: !isCut }
}

// ---- calls that a proxy saw

/** Reads a call that a proxy saw. */
export function observedOf({ remoteAddress, because, answer: told, ...seen }: Seen): Observed {
  const headers = Object.fromEntries(pairsOf(told?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]))
  const text = told === null ? '' : decodedText(Buffer.from(told.body, 'latin1'), headers['content-encoding'])
  const isCut = text === null || (told !== null && told.body.length < told.bodyBytes)
  const isExact = seen.body.length === seen.bodyBytes
  return {
    ...seen,
    address: remoteAddress.replace(/^::ffff:/, ''),
    headers: pairsOf(seen.headers),
    // In memory of its own: a small Buffer lies in one that it shares, which would be kept with it.
    body: new Uint8Array(Buffer.from(seen.body, 'latin1')),
    answer: told === null ? null : { status: told.status, headers, body: text ?? '' },
    faults: [],
    unknown: partsWhere({ body: !isExact, answer: isCut }),
    isExact,
    ...(because === undefined ? {} : { oursBecause: because }),
  }
}

/** A longer answer is not decoded. */
const mostDecodedBytes = 2 ** 20

/** The text of an answer; null where it cannot be read. */
function decodedText(bytes: Buffer, encoding: string | undefined): string | null {
  try {
    const limit = { maxOutputLength: mostDecodedBytes }
    const plain =
      encoding === undefined || encoding === 'identity'
        ? bytes
        : encoding === 'br'
          ? brotliDecompressSync(bytes, limit)
          : unzipSync(bytes, limit)
    return fromUtf8(plain) ?? plain.toString('latin1')
  } catch {
    return null
  }
}

/** Headers in turn, as pairs. */
export function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}
