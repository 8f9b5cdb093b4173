/** What each word of the fixture language makes of one request: for those who write a runner in another language. */
import { bodyForms, writeBody } from '../engine/conversation/call.ts'
import { SuiteError } from '../engine/errors.ts'
import { basicWords, changesOf, readDeviations } from '../engine/language/deviations.ts'
import { readSchema } from '../engine/language/schemas.ts'
import { brokenBodies, cutLetterForms, bodyForms as sameJson } from '../engine/signer/bodies.ts'
import { fromHex, fromUtf8, toHex, utf8 } from '../engine/signer/bytes.ts'
import { type Change, type Json, writeCall } from '../engine/signer/changed-call.ts'
import { sha256 } from '../engine/signer/hmac.ts'
import { type KnownMistake, mistakes } from '../engine/signer/mistakes.ts'
import { alterWords, changeBytes, changeText } from '../engine/signer/operations.ts'
import { type Mistake, type Signed, type SigningKey, sign } from '../engine/signer/sign.ts'

type Definitions = { [name: string]: { else?: { enum?: string[] } } }

/** The words that the schema of the language allows in a place, such as `alteration`. */
export function wordsOf(definition: string): readonly string[] {
  const { $defs } = readSchema('fixture') as { $defs: Definitions }
  return $defs[definition]?.else?.enum ?? []
}

/** Forms that `explore` uses: some of them say more or other than the call. */
export const otherBodyForms: readonly string[] = [...Object.keys(sameJson), ...Object.keys(cutLetterForms)].filter(
  (form) => !bodyForms.includes(form),
)

/** The keys of a mistake whose value is a word. */
export const mistakeGroups = ['data', 'signature', 'fields'] as const
type MistakeGroup = (typeof mistakeGroups)[number]

/** The mistakes that fixtures can make under a key, by their word. The schema of the language lists the words; the lab knows more mistakes. */
export function mistakesByWord(group: MistakeGroup): ReadonlyMap<string, KnownMistake> {
  const words = wordsOf(`${group}Word`)
  const prefix = `${group}/`
  const made = mistakes.filter(
    ({ id, made }) => made && id.startsWith(prefix) && words.includes(id.slice(prefix.length)),
  )
  return new Map(made.map((mistake) => [mistake.id.slice(prefix.length), mistake]))
}

/** Its body has what the words need to make a difference: white space, both ends of a line, letters beyond ASCII, a slash, two members in disorder. */
const request = {
  scheme: 'svc-hmac-sha256',
  'key-id': 'key-1',
  secret: 'Secret-1',
  seed: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  method: 'POST',
  uri: '/api',
  url: 'http://127.0.0.1:8080/api',
  body: '{"params": {"name": "Zoë/1"},\r\n"id": 1}\n',
  timestamp: '1702555410352',
  nonce: 'q83vEjRWeJCrze8S',
}

const kinds = ['hmac', 'ecc'] as const
type Kind = (typeof kinds)[number]

const keys: { [kind in Kind]: SigningKey } = {
  hmac: { kind: 'secret', secret: request.secret },
  ecc: { kind: 'ed25519', seed: fromHex(request.seed) ?? new Uint8Array() },
}

/** undefined where the mistake cannot be made with this kind of key. */
function signed(kind: Kind, mistake: Mistake): Signed | undefined {
  const { scheme, 'key-id': keyId, method, uri, url, timestamp, nonce } = request
  const input = { scheme, keyId, key: keys[kind], method, uri, url, body: utf8(request.body), timestamp, nonce }
  try {
    return sign(input, mistake)
  } catch (error) {
    if (error instanceof SuiteError) return undefined
    throw error
  }
}

const samples = ['3Kf-x9QaZ', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl']
const paramsOfCall = { name: 'Zoë', more: { deep: true } }
const call: [string, unknown][] = [
  ['jsonrpc', '2.0'],
  ['id', 1],
  ['method', 'solution/listSolutions'],
  ['params', paramsOfCall],
]

/** fixtures/words.json as a text. */
export function wordExamples(): string {
  const headers = (mistake: Mistake) =>
    Object.fromEntries(kinds.map((kind) => [kind, signed(kind, mistake)?.header ?? null]))
  const examples = {
    request,
    right: headers({}),
    ...Object.fromEntries(
      mistakeGroups.map((group) => [
        group,
        Object.fromEntries([...mistakesByWord(group).keys()].map((word) => [word, headers({ [group]: word })])),
      ]),
    ),
    alterations: mapValues(alterWords, (alter) => Object.fromEntries(samples.map((text) => [text, alter(text)]))),
    basic: mapValues(basicWords, (change) => altered('basic', [change]).header?.replace('Basic ', '')),
    call: Object.fromEntries(call),
    'body forms': Object.fromEntries(
      [...bodyForms, ...otherBodyForms].map((form) => {
        const text = writeBody(call, form)
        // Long texts are shown by their digest.
        return [form, text.length < 1000 ? text : { sha256: toHex(sha256(utf8(text))) }]
      }),
    ),
    alter: alteredExamples(),
  }
  return `${JSON.stringify(examples, null, 2)}\n`
}

/** It has every mark and every kind of letter that an operation looks for. */
const sampleText = 'Ab3;Kf/x9.Qz:a-S;Zo\u00eb;e\u0301,4;5;\nlistSolutions\nxyz\n'
const sampleBytes = Uint8Array.from({ length: 20 }, (_, at) => (at * 37 + 5) % 256)

/** What `alter` makes: of a text, of bytes, of a body, and of the parts of a call with each kind of authorization. */
function alteredExamples(): object {
  const operations = readDeviations()
  const right = writeBody(call)
  return {
    text: sampleText,
    'operations on a text': Object.fromEntries(
      operations.wordsOf('text').map((name) => [name, changeText(sampleText, operations.text(name))]),
    ),
    bytes: toHex(sampleBytes),
    'operations on bytes': Object.fromEntries(
      operations.wordsOf('bytes').map((name) => [name, toHex(changeBytes(sampleBytes, operations.bytes(name)))]),
    ),
    'broken bodies': mapValues(brokenBodies, (change) => change(right)),
    calls: alteredCalls.map(({ auth, alter }) => ({ auth, alter, ...altered(auth, changesOf(alter)) })),
  }
}

type WayToCall = 'basic' | 'token' | Kind

const wordFor = { text: 'letter-appended', bytes: 'first-bit-flipped', 'body forms': 'line-feed-appended' } as const

/** Every part once, and each way to change a value. */
const alteredCalls: readonly { auth: WayToCall; alter: { [part: string]: unknown } }[] = [
  ...Object.entries(readDeviations().parts).flatMap(([name, { operations, auth: ways = ['basic'] }]) => {
    if (operations === 'values' || name === 'header') return []
    const word =
      operations === 'mistakes'
        ? 'data/with-commas'
        : operations === 'broken bodies'
          ? 'brace-missing'
          : wordFor[operations]
    return ways.map((auth) => ({ auth: auth as WayToCall, alter: { [name]: word } }))
  }),
  ...Object.entries({
    'param name': [
      'removed',
      'letter-appended',
      'in-list',
      'in-object',
      'in-list-twice',
      'as-json-text',
      { value: null },
    ],
    'param scope': ['joined', 'joined-by-comma', 'first-alone', 'with-number', 'with-null', 'as-map'],
    'member jsonrpc': ['removed'],
    'member extra': [{ value: 1 }],
    'name-of method': ['upper-case'],
    'name-of name': ['upper-case'],
    'scope 1': ['upper-case'],
  }).flatMap(([part, words]) => words.map((word) => ({ auth: 'basic' as const, alter: { [part]: word } }))),
  { auth: 'basic', alter: { 'basic-word': 'upper-case', 'basic-secret': 'first-half' } },
  { auth: 'hmac', alter: { 'signed-body': 'members-reversed', signature: { value: 'x' } } },
]

function altered(way: WayToCall, changes: readonly Change[]): { header: string | undefined; body: string } {
  const { scheme, 'key-id': id, secret, uri, url, timestamp, nonce } = request
  const key = way === 'ecc' ? { id, seed: fromHex(request.seed) ?? undefined } : { id, secret }
  const caller = way === 'token' ? { kind: way, token: samples[1] ?? '' } : { kind: way, key }
  const written = writeCall(
    {
      method: 'solution/listSolutions',
      params: { ...paramsOfCall, scope: ['solution', 'context'] } as { [name: string]: Json },
      id: 1,
      caller,
      write: (members) => writeBody(members),
    },
    changes,
    {
      scheme,
      uri,
      url,
      tokenWord: 'Bearer',
      operations: readDeviations(),
      nextNonce: () => nonce,
      timestamp: () => Number(timestamp),
    },
  )
  return { header: written.authorization, body: written.body }
}

const mapValues = <From, To>(values: { readonly [name: string]: From }, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))

/** fixtures/words.md as a text. */
export function wordsPage(): string {
  const { 'key-id': id, secret, seed, body, timestamp, nonce } = request
  const head = `# The words of mistakes in a signature

As in \`auth: { hmac: root, but: { data: with-commas } }\`; see [README.md](README.md). The examples sign \`POST /api\` at \`${timestamp}\` with the nonce
\`${nonce}\`, the key \`${id}\` with the secret \`${secret}\` (or the ED25519 seed \`${seed}\`), and the body
\`${shown(utf8(body))}\`. [words.json](words.json) has the whole header for every word and both kinds of keys, and the
right ones, so that a runner can test itself.
`
  return [head, ...mistakeGroups.map(section)].join('\n')
}

const columns: { [group in MistakeGroup]: string } = {
  data: 'what is signed',
  signature: 'the signature that is sent',
  fields: 'the header',
}

function section(group: MistakeGroup): string {
  const lines = [...mistakesByWord(group)].map(([word, { title, requirement }]) => {
    const made = signed('hmac', { [group]: word }) ?? signed('ecc', { [group]: word })
    const example = made && { data: shown(made.dataToSign), signature: made.signature, fields: made.header }[group]
    return `| \`${word}\` | ${title} | ${example ? `\`${example}\`` : ''} | \`${requirement}\` |`
  })
  return [
    `## \`${group}\``,
    '',
    `| word | what is done | ${columns[group]} | breaks |`,
    '|---|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}

/** Makes line ends and bytes that are not UTF-8 visible. */
function shown(bytes: Uint8Array): string {
  const text = fromUtf8(bytes)
  if (text === null)
    return Array.from(bytes, (byte) => (byte > 0x7e || byte < 0x20 ? escaped(byte) : String.fromCharCode(byte))).join(
      '',
    )
  return text.replaceAll('\\', '\\\\').replaceAll('\r', '\\r').replaceAll('\n', '\\n').replaceAll('\ufeff', '\\ufeff')
}

const escaped = (byte: number): string => ({ 10: '\\n', 13: '\\r' })[byte] ?? `\\x${byte.toString(16).padStart(2, '0')}`
