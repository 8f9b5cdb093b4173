import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { defaultScheme } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { parseRequirements } from '../engine/language/corpus.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { type FlatVector, flatVectors, loadVectors } from '../engine/language/vectors.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { fromBase64Strict, fromLatin1, fromUtf8, toBase64, toHex, utf8, visibleLines } from '../engine/signer/bytes.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { publicKeyFromPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { type Signed, type SignInput, type SigningKey, sign } from '../engine/signer/sign.ts'
import { type DiagnoseInput, type Diagnosis, diagnose, nextSteps, unexplainedSentence } from '../lab/diagnose.ts'
import { readPasted, sentBody } from '../lab/request.ts'
import { judgeOwnData, verify } from '../lab/verify.ts'
import { given, readBytes, readStandardInput } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { writeOut } from './console.ts'

/** A secret with its source: a variable or a file. */
interface NamedSecret {
  flag: '--secret-env' | '--secret-file'
  name: string
}

const bodyFlags = {
  body: flag.value('--body <text>', 'the body as sent'),
  bodyFile: flag.value('--body-file <file>', 'the body as sent, byte by byte; without both flags, stdin'),
}

/** The flags of the key that signs; a secret is never taken from the command line, which others can see. */
const keyFlags = {
  secretEnv: {
    ...flag.many('--secret-env <name>', 'environment variable with the API key secret'),
    together: 'secrets',
  },
  secretFile: {
    ...flag.many('--secret-file <file>', 'file with the API key secret (a final line feed is dropped)'),
    together: 'secrets',
  },
  privateKey: flag.value('--private-key <file>', 'ED25519 private key (PKCS#8 PEM)'),
}

const uri = flag.preset('--uri <uri>', 'URI to sign', '/api')
const scheme = flag.preset('--scheme <word>', 'scheme word of the service', defaultScheme)

const signFlags = {
  ...bodyFlags,
  ...keyFlags,
  keyId: { ...flag.preset('--key-id <id>', 'API key id', ''), isRequired: true },
  method: flag.preset('--method <method>', 'HTTP method', 'POST'),
  uri,
  timestamp: flag.value('--timestamp <ms>', 'milliseconds since 1970 (default: now)', milliseconds),
  nonce: flag.value('--nonce <text>', 'nonce (default: random)', fieldText),
  scheme,
  url: flag.preset('--url <url>', 'base URL for the curl line', 'http://127.0.0.1:8080', flag.baseUrl),
  json: flag.mark('--json', 'print JSON'),
}

const checkFlags = {
  ...bodyFlags,
  ...keyFlags,
  secretEnv: {
    ...keyFlags.secretEnv,
    about: `${keyFlags.secretEnv.about}; further ones are other keys, to find a mix-up`,
  },
  header: {
    ...flag.preset(
      '--header <text>',
      'the Authorization header, or a curl line, a raw HTTP request, a call of fetch or Invoke-RestMethod; @FILE reads it from a file',
      '',
    ),
    isRequired: true,
  },
  publicKey: flag.value('--public-key <file>', 'ED25519 public key (PEM)'),
  method: flag.value('--method <method>', 'HTTP method, if only the header is given (default: POST)'),
  uri,
  url: flag.value(
    '--url <url>',
    'the URL that was called, or the base URL: finds mistakes with host, base path or query',
    calledUrl,
  ),
  keyId: flag.value('--key-id <id>', 'id that the header must name'),
  scheme,
  dataToSignFile: flag.value('--data-to-sign-file <file>', 'your own data to sign; shows its first wrong byte'),
  json: flag.mark('--json', 'print JSON'),
  verbose: flag.mark('--verbose', 'list the mistakes that were ruled out'),
}

/** What commander parsed, with all secrets in the order of the command line. */
type Typed<F extends flag.Table> = flag.Typed<F> & { secrets?: NamedSecret[] }
type SignFlags = Typed<typeof signFlags>
type CheckFlags = Typed<typeof checkFlags>

/** `sign`: every stage of a signature, and a header that works. */
const signing: flag.Command<typeof signFlags> = {
  about: 'sign a request and show every stage, with a curl line that sends it',
  flags: signFlags,
  run(typed: SignFlags) {
    const input = signInputOf(typed)
    const { url, json } = flag.read(signFlags, typed)
    const signed = sign(input)
    writeOut(json ? jsonLine(signJson(signed)) : printableLines(signText(input, signed, url)))
  },
}

/** What to sign. @throws SuiteError (`usage`) */
export function signInputOf(typed: SignFlags, readStdin = readPiped): SignInput {
  const flags = flag.read(signFlags, typed)
  const { method, uri, scheme } = flags
  demandOneKey(typed, 'sign')
  const { key } = readKeys(typed)
  return {
    scheme,
    keyId: fieldText(flags.keyId, '--key-id'),
    key,
    method,
    uri,
    body: readBody(flags, readStdin),
    timestamp: flags.timestamp ?? String(Date.now()),
    nonce: flags.nonce ?? toBase64(randomBytes(18)),
  }
}

function milliseconds(text: string, name: string): string {
  if (/^\d+$/.test(text)) return text
  throw usageError(`Cannot use "${text}" for "${name}": expected milliseconds since 1970`)
}

/** The text of one field of a header. */
function fieldText(text: string, name: string): string {
  if (text !== '' && !text.includes(';')) return text
  throw usageError(
    `Cannot use "${text}" for "${name}": it must not be empty or hold a semicolon, which separates fields`,
  )
}

const signJson = ({ dataToSign, mac, macFirst20, signature, header }: Signed) => ({
  dataToSign: fromUtf8(dataToSign) ?? fromLatin1(dataToSign),
  dataToSignHex: toHex(dataToSign),
  ...(mac === undefined || macFirst20 === undefined ? {} : { mac: toHex(mac), macFirst20: toHex(macFirst20) }),
  signature,
  header,
})

/** What `sign` prints for people. @param url the base URL, without a trailing slash */
function signText({ method, uri, body }: SignInput, signed: Signed, url: string): string {
  const { requestData, dataToSign, mac, signature, header } = signed
  const section = (title: string, lines: readonly string[]) => [title, ...lines.map((line) => `  ${line}`), '']
  const hex = toHex(mac ?? new Uint8Array(0))
  return [
    ...section(`Request data, ${requestData.length} bytes`, visibleLines(requestData)),
    ...section(`Data to sign, ${dataToSign.length} bytes`, [
      ...visibleLines(dataToSign),
      ...hexRows(toHex(dataToSign)),
    ]),
    ...(mac === undefined
      ? section('Signature: ED25519 over the data to sign, 64 bytes in BASE64', [signature])
      : [
          ...section('MAC: HMAC-SHA256 over the data to sign; the first 20 of 32 bytes are sent', [
            `[${hex.slice(0, 40)}] ${hex.slice(40)}`,
          ]),
          ...section('Signature: these 20 bytes in BASE64', [signature]),
        ]),
    ...section('Header', [`Authorization: ${header}`]),
    ...section('Send it', [curlLine(`${url}${uri}`, method.toUpperCase(), header, body)]),
  ].join('\n')
}

const { verbose: _verbose, ...verifyFlags } = checkFlags

/** `verify`: checks a header stage by stage; exit 0 valid, 1 not. */
const verifying: flag.Command<typeof verifyFlags> = {
  about: 'check a signed header stage by stage',
  flags: verifyFlags,
  run(typed: CheckFlags) {
    // Further secrets are for `diagnose`, to which the same flags can be given.
    demandOneKey({ ...typed, secrets: typed.secrets?.slice(0, 1) ?? [] }, 'verify')
    const input = readCheck(typed)
    const result = verify(input)
    writeOut(typed.json === true ? jsonLine(result) : printableLines(verifyText(result, input.header)))
    return result.valid ? 0 : 1
  },
}

type Verification = ReturnType<typeof verify>

/** What `verify` prints for people. */
function verifyText({ valid, stages }: Verification, header: string): string {
  const failed = stages.filter(({ ok }) => !ok).map(({ name }) => name)
  const verdict = valid ? 'Valid: every stage is right' : `Not valid: ${failed.join(', ')}`
  const last = valid ? [] : ['`svc-conformance diagnose` with the same flags looks for the mistake']
  return [...stages.flatMap((stage) => stageLines(stage, header)), '', verdict, ...last, ''].join('\n')
}

function stageLines({ name, ok, expected, received }: Verification['stages'][number], header: string): string[] {
  if (ok) return [`✓ ${name}`]
  // A header without a space has no scheme word, so its beginning is shown.
  const shown = name === 'scheme' && received === '' ? header.trim() : (received ?? '')
  return [`✗ ${name}`, `    expected  ${expected ?? ''}`, `    received  ${shown === '' ? '(empty)' : shown}`]
}

/** `diagnose`: names the mistake in a refused header; exit 0 valid, 1 explained, 3 unexplained. */
const diagnosing: flag.Command<typeof checkFlags> = {
  about: 'name the mistake in a refused header',
  flags: checkFlags,
  run(typed: CheckFlags) {
    const { json, verbose } = flag.read(checkFlags, typed)
    const input = readCheck(typed)
    const result = diagnose(input)
    const { valid, explained, mistakes, ruledOut } = result
    writeOut(
      json ? jsonLine({ valid, explained, mistakes, ruledOut }) : printableLines(diagnoseText(input, result, verbose)),
    )
    return valid ? 0 : explained ? 1 : 3
  },
}

/** What `diagnose` prints for people. */
function diagnoseText(input: DiagnoseInput, result: Diagnosis, isVerbose: boolean): string {
  const failed = verify(input).stages.flatMap(({ ok, name }) => (ok ? [] : [name]))
  const lines = result.valid
    ? ['Valid: the header is right for this request and key']
    : [`Not valid at: ${failed.join(', ')}`, '']
  lines.push(...result.mistakes.flatMap(mistakeLines))
  if (result.alternatives.length > 0) {
    lines.push('The same bytes come out when', ...result.alternatives.map(({ title, id }) => `  ${title} (${id})`), '')
  }
  for (const sentence of judgeOwnData(input)?.sentences ?? []) lines.push(sentence, '')
  if (!result.valid && !result.explained) lines.push(...unexplainedLines(input, result, isVerbose))
  return `${lines.join('\n').trimEnd()}\n`
}

function mistakeLines({ id, title, requirement, fix }: Diagnosis['mistakes'][number]): string[] {
  return [
    `✗ ${title}`,
    `    Mistake   ${id}`,
    `    Sentence  ${requirement}: ${requirementTexts().get(requirement) ?? ''}`,
    `              spec/interface.md#${requirement.replace('/', '-')}`,
    `    Fix       ${fix}`,
    '',
  ]
}

const stepTexts: { [step in ReturnType<typeof nextSteps>[number]]: string } = {
  'check-empty-body': 'The body given here is empty. If one was sent, give it with "--body-file FILE"',
  'give-own-data':
    'Write the data that your code signs to a file, byte by byte, and name it with "--data-to-sign-file FILE": their first wrong byte is pointed at',
  'mend-own-data': 'Correct the data that your code signs at the byte named above, then sign again',
  'compare-key':
    'Your data are right, so look at the key: compare its length and its first bytes where your code computes the signature',
  'give-url': 'Give the URL that was called with "--url": mistakes with host, base path and query are tried as well',
}

function unexplainedLines(input: DiagnoseInput, result: Diagnosis, isVerbose: boolean): string[] {
  const { ruledOut } = result
  // A mistake that was made up for one request has no title; its id is enough.
  const titleOf = (id: string): string => mistakeById(id)?.title ?? id.replace(/^[a-z]+\//, '').replaceAll('-', ' ')
  const list = ruledOut.map((id) => `  ${id.padEnd(44)}${titleOf(id)}`.trimEnd())
  return [
    unexplainedSentence(input, result),
    '',
    ...nextSteps(input).map((step, at) => `${at === 0 ? 'Next  ' : 'Then  '}${stepTexts[step]}`),
    '',
    ...(isVerbose
      ? [`Ruled out, alone and together with others (${ruledOut.length}):`, ...list]
      : ['"--verbose" lists the mistakes that were ruled out']),
  ]
}

let texts: Map<string, string> | undefined

function requirementTexts(): Map<string, string> {
  const file = 'spec/requirements.yaml'
  texts ??= new Map(
    parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file).map(({ id, text }) => [id, text]),
  )
  return texts
}

// Where `sign`, `verify` and `diagnose` get request, key and header from: flags, files, the environment and stdin.

/** The maximum size of a body on standard input; endless input is refused. In bytes. */
const longestFile = 64 * 2 ** 20

/** Reads a file that a flag names. @param what as in `Cannot read the body` */
const readFile = (path: string, what: string): Uint8Array => readBytes(path, what, longestFile)
const textIn = (path: string, what: string): string => new TextDecoder().decode(readFile(path, what))

/** Reads what was piped to stdin; null if it is a terminal. Once `process.stdin` has been used, a read no longer waits for a slow writer, so it is not used here. */
const readPiped = (): Uint8Array | null => (isatty(0) ? null : readStandardInput(longestFile))

/** Reads what to verify or diagnose. @throws SuiteError (`usage`) that says which flag to give */
export function readCheck(typed: CheckFlags, readStdin = readPiped): DiagnoseInput {
  const flags = flag.read(checkFlags, typed)
  const pasted = readPasted(flags.header.startsWith('@') ? textIn(flags.header.slice(1), 'the request') : flags.header)
  if (pasted.unreadable !== undefined) throw usageError(`Cannot read "--header": ${pasted.unreadable}`)
  const withheld = pasted.withheld?.header
  if (withheld !== undefined)
    throw usageError(
      `Cannot take the Authorization header from "--header": ${withheld}; give the header as it was sent`,
    )
  if (pasted.header === undefined) {
    throw usageError(
      'Cannot find an Authorization header in "--header": give the header, a curl line that sends it, or a raw request',
    )
  }
  const url = flags.url ?? (pasted.url?.includes('://') ? pasted.url : undefined)
  return {
    header: pasted.header,
    ...readKeys(typed),
    scheme: flags.scheme,
    keyId: flags.keyId ?? undefined,
    // curl lines often omit the method when they send a body.
    method: flags.method ?? pasted.method ?? 'POST',
    uri: flags.uri,
    ...(url === undefined ? {} : { url }),
    ...sentBody(pasted, bodyOf(flags, pasted, readStdin)),
    callersData: flags.dataToSignFile === null ? undefined : readFile(flags.dataToSignFile, 'the data to sign'),
  }
}

/** Elsewhere "--url" is the base URL, so it is accepted here too. */
function calledUrl(url: string): string {
  const [, beforeQuery = '', query = ''] = /^([^?#]*)(.*)$/s.exec(url) ?? []
  return beforeQuery.endsWith('/api') ? url : `${beforeQuery.replace(/\/$/, '')}/api${query}`
}

/** Reads the bytes of the body. @throws SuiteError (`usage`) if no flag gives a body */
function readBody({ body, bodyFile }: flag.Values<typeof bodyFlags>, readStdin: typeof readPiped): Uint8Array {
  if (body !== null && bodyFile !== null) throw usageError('Give "--body" or "--body-file", not both')
  if (body !== null) return utf8(body)
  if (bodyFile !== null) return readFile(bodyFile, 'the body')
  const piped = readStdin()
  if (piped === null) throw usageError('Give the body: "--body TEXT", "--body-file FILE" or stdin')
  return piped
}

/** @param to what the key is for, as in `Give one key to sign with` @throws SuiteError (`usage`) for two keys */
function demandOneKey({ secrets = [], ...typed }: CheckFlags | SignFlags, to: string): void {
  const named = [
    ...(typed.privateKey === undefined ? [] : [`"--private-key ${typed.privateKey}"`]),
    ...('publicKey' in typed ? [`"--public-key ${typed.publicKey}"`] : []),
    ...secrets.map(({ flag, name }) => `"${flag} ${name}"`),
  ]
  if (named.length > 1) throw usageError(`Give one key to ${to} with: only one of ${named.join(', ')}`)
}

/** The key of the caller, and the other keys that were given: an ED25519 key first, then secrets in their order. @throws SuiteError (`usage`) without any key */
function readKeys({ secrets = [], ...typed }: CheckFlags | SignFlags): {
  key: SigningKey
  otherKeys: { name: string; key: SigningKey }[]
} {
  const { privateKey, publicKey } = flag.read(
    { privateKey: checkFlags.privateKey, publicKey: checkFlags.publicKey },
    typed,
  )
  const keys = [
    ...(privateKey === null ? [] : [ed25519Key(privateKey, 'private')]),
    ...(publicKey === null ? [] : [ed25519Key(publicKey, 'public')]),
    ...secrets.map(secretKey),
  ]
  const [first, ...otherKeys] = keys
  if (first === undefined) {
    throw usageError(
      'Give the key: "--secret-env NAME", "--secret-file FILE", "--private-key FILE" or, to check only, "--public-key FILE"',
    )
  }
  return { key: first.key, otherKeys }
}

function bodyOf(
  flags: flag.Values<typeof bodyFlags>,
  pasted: ReturnType<typeof readPasted>,
  readStdin: typeof readPiped,
): Uint8Array {
  if (flags.body !== null || flags.bodyFile !== null) return readBody(flags, readStdin)
  if (pasted.bodyFile !== undefined) {
    const { path } = pasted.bodyFile
    return path === '-' ? readBody({ body: null, bodyFile: null }, readStdin) : readFile(path, 'the body')
  }
  const withheld = pasted.withheld?.body
  const piped = withheld === undefined ? null : readStdin()
  // An empty standard input is what a script or a CI has; here a body was sent.
  if (piped !== null && piped.length > 0) return piped
  if (withheld !== undefined)
    throw usageError(
      `Cannot take the body from "--header": ${withheld}; give the body as it was sent with "--body-file FILE"`,
    )
  return pasted.body ?? readBody(flags, readStdin)
}

/** @throws SuiteError (`usage`) for a PEM, which is never a secret */
function secretKey({ flag, name }: NamedSecret): { name: string; key: SigningKey } {
  const secret = flag === '--secret-env' ? given(process.env[name]) : secretInFile(name)
  if (secret === undefined) throw usageError(`Set the environment variable "${name}" to the secret: it is not set`)
  const text = typeof secret === 'string' ? secret : new TextDecoder().decode(secret)
  if (text.includes('-----BEGIN ')) {
    const how = 'give the file with "--private-key" or, to check only, with "--public-key"'
    throw usageError(`Cannot use the secret "${name}": it holds a PEM; ${how}`)
  }
  return { name, key: { kind: 'secret', secret } }
}

function secretInFile(path: string): Uint8Array {
  const bytes = readFile(path, 'the secret')
  const end = bytes.at(-1) !== 0x0a ? bytes.length : bytes.at(-2) === 0x0d ? bytes.length - 2 : bytes.length - 1
  if (end <= 0) throw usageError(`Cannot use the secret "${path}": the file is empty`)
  return bytes.slice(0, end)
}

function ed25519Key(path: string, half: 'private' | 'public'): { name: string; key: SigningKey } {
  const pem = textIn(path, `the ${half} key`)
  try {
    const key: SigningKey =
      half === 'private'
        ? { kind: 'ed25519', seed: seedFromPkcs8(pem) }
        : { kind: 'ed25519-public', publicKey: publicKeyFromPem(pem) }
    return { name: path, key }
  } catch (cause) {
    throw usageError(`Cannot use the ${half} key "${path}": ${(cause as Error).message}`, { cause })
  }
}

const vectorsFlags = { json: flag.mark('--json', 'print flat JSON for other languages, as in fixtures/vectors.json') }

const vectors: flag.Command<typeof vectorsFlags> = {
  about: 'print every signature vector with its stages',
  flags: vectorsFlags,
  run({ json }) {
    const flat = flatVectors(loadVectors(packageRoot))
    writeOut(json === true ? jsonLine(flat, 2) : printableLines(flat.vectors.map(vectorText).join('\n')))
  },
}

export const commands = { sign: signing, verify: verifying, diagnose: diagnosing, vectors }

/** One vector for people. */
function vectorText(vector: FlatVector): string {
  const { id, title, why, valid, failsAt, received } = vector
  const data = fromBase64Strict(vector.dataToSignBase64) ?? utf8('')
  const values: [string, string | undefined][] = [
    ['key id', vector.keyId],
    ['secret', vector.secret],
    ['sha256', vector.dataToSignSha256],
    ['mac', vector.mac],
    ['first 20', vector.macFirst20],
    ['signature', vector.signature],
    ['header', vector.header],
    ['received', received],
  ]
  return [
    `${id}  ${title}${valid ? '' : ` (refused at ${failsAt})`}`,
    ...(why === undefined ? [] : [`  ${why}`]),
    ...shortened(visibleLines(data)).map((line, at) => `  ${(at === 0 ? 'data' : '').padEnd(11)}${line}`),
    ...values.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(11)}${value}`])),
    '',
  ].join('\n')
}

/** Long lines are cut for reading; --json has them whole. */
function shortened(lines: readonly string[]): string[] {
  return lines.map((line) => (line.length > 160 ? `${line.slice(0, 120)} … (${line.length} characters)` : line))
}

// Bytes and quoted text for a terminal, with visible line ends and without loss.

/** Hex in rows of 32 bytes. */
function hexRows(hex: string): string[] {
  return hex.match(/.{1,64}/g)?.map((row) => row.replace(/(.{8})(?=.)/g, '$1 ')) ?? []
}

/** A curl line that sends these bytes with this header. */
function curlLine(url: string, method: string, header: string, body: Uint8Array): string {
  const text = fromUtf8(body)
  const head = `curl -sS -X ${method} ${quoted(url)} -H 'Content-Type: application/json' -H ${quoted(`Authorization: ${header}`)}`
  // A shell word cannot hold NUL or bytes that are not text, and unprintable characters would be printed differently.
  return text === null || printableLines(text) !== text
    ? `printf %s ${toBase64(body)} | openssl base64 -d -A | ${head} --data-binary @-`
    : `${head} --data-raw ${quoted(text)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
