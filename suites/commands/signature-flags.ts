/** Where `sign`, `verify` and `diagnose` get request, key and header from: flags, files, the environment and stdin. */
import { isatty } from 'node:tty'
import type { Command } from 'commander'
import { defaultScheme } from '../engine/document.ts'
import { SuiteError, usageError } from '../engine/errors.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import { publicKeyFromPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import type { SigningKey } from '../engine/signer/sign.ts'
import type { DiagnoseInput } from '../lab/diagnose.ts'
import { type PastedRequest, readPasted } from '../lab/request.ts'
import { type Environment, fileProblem, given, readBytes, readStandardInput } from '../run/files.ts'

/** A secret with its source: a variable or a file. */
interface NamedSecret {
  flag: 'secret-env' | 'secret-file'
  name: string
}

export interface KeyFlags {
  /** In the order of the command line. */
  secrets?: NamedSecret[]
  privateKey?: string
  publicKey?: string
}

export interface BodyFlags {
  body?: string
  bodyFile?: string
}

export interface CheckFlags extends KeyFlags, BodyFlags {
  header?: string
  method?: string
  uri?: string
  url?: string
  scheme?: string
  keyId?: string
  dataToSignFile?: string
  json?: boolean
}

/** Files, environment and stdin, so that tests can replace them. */
export interface Surroundings {
  env: Environment
  /** @param what as in `Cannot read the body` */
  readFile(path: string, what: string): Uint8Array
  /** null: stdin is a terminal. */
  readStdin(): Uint8Array | null
}

/** The maximum size of a body on standard input; endless input is refused. In bytes. */
const longestFile = 64 * 2 ** 20

export const processSurroundings: Surroundings = {
  env: process.env,
  readFile: (path, what) => readBytes(path, what, longestFile),
  // A look at process.stdin would keep a read from waiting for a slow writer.
  readStdin: () => (isatty(0) ? null : readStandardInput(longestFile)),
}

/** The flags that `verify` and `diagnose` share. */
export function addCheckFlags(command: Command): Command {
  return addKeyFlags(addBodyFlags(command), '; further ones are other keys, to find a mix-up')
    .requiredOption(
      '--header <text>',
      'the Authorization header, a curl line or a raw HTTP request; @FILE reads it from a file',
    )
    .option('--public-key <file>', 'ED25519 public key (PEM)')
    .option('--method <method>', 'HTTP method, if only the header is given (default: POST)')
    .option('--uri <uri>', 'URI to sign', '/api')
    .option('--url <url>', 'the URL that was called, or the base URL: finds mistakes with host, base path or query')
    .option('--key-id <id>', 'id that the header must name')
    .option('--scheme <word>', 'scheme word of the service', defaultScheme)
    .option('--data-to-sign-file <file>', 'your own data to sign; shows its first wrong byte')
    .option('--json', 'print JSON')
}

/** The flags of the body. */
export function addBodyFlags(command: Command): Command {
  return command
    .option('--body <text>', 'the body as sent')
    .option('--body-file <file>', 'the body as sent, byte by byte; without both flags, stdin')
}

/** The flags of the key that signs; a secret is never taken from the command line, which others can see. */
export function addKeyFlags(command: Command, further = ''): Command {
  command
    .option('--secret-env <name>', `environment variable with the API key secret${further}`)
    .option('--secret-file <file>', 'file with the API key secret (a final line feed is dropped)')
    .option('--private-key <file>', 'ED25519 private key (PKCS#8 PEM)')
  // commander keeps the order of one flag, not of two.
  const secrets: NamedSecret[] = []
  for (const flag of ['secret-env', 'secret-file'] as const)
    command.on(`option:${flag}`, (name: string) => {
      secrets.push({ flag, name })
      command.setOptionValue('secrets', secrets)
    })
  return command
}

/** What to verify or diagnose. @throws SuiteError (`usage`) that says which flag to give */
export function readCheck(flags: CheckFlags, around: Surroundings = processSurroundings): DiagnoseInput {
  const text = textOf(flags.header ?? '', around)
  demandClosedQuotes(text)
  const pasted = readPasted(text)
  if (pasted.header === undefined) {
    throw usageError(
      'Cannot find an Authorization header in "--header": give the header, a curl line that sends it, or a raw request',
    )
  }
  const { key, otherKeys } = readKeys(flags, around)
  const url = flags.url === undefined ? (pasted.url?.includes('://') ? pasted.url : undefined) : calledUrl(flags.url)
  return {
    header: pasted.header,
    key,
    otherKeys,
    scheme: flags.scheme ?? defaultScheme,
    keyId: flags.keyId,
    // curl lines often omit the method when they send a body.
    method: flags.method ?? pasted.method ?? 'POST',
    uri: flags.uri ?? '/api',
    ...(url === undefined ? {} : { url }),
    body: bodyOf(flags, pasted, around),
    callersData:
      flags.dataToSignFile === undefined ? undefined : bytesOf(flags.dataToSignFile, 'the data to sign', around),
  }
}

/** Elsewhere "--url" is the base URL, so it is accepted here too. */
function calledUrl(url: string): string {
  const [, beforeQuery = '', query = ''] = /^([^?#]*)(.*)$/s.exec(url) ?? []
  return beforeQuery.endsWith('/api') ? url : `${beforeQuery.replace(/\/$/, '')}/api${query}`
}

/** Reads the bytes of the body. @throws SuiteError (`usage`) if no flag gives a body */
export function readBody({ body, bodyFile }: BodyFlags, around: Surroundings = processSurroundings): Uint8Array {
  if (body !== undefined && bodyFile !== undefined) throw usageError('Give "--body" or "--body-file", not both')
  if (body !== undefined) return utf8(body)
  if (bodyFile !== undefined) return bytesOf(bodyFile, 'the body', around)
  const piped = around.readStdin()
  if (piped === null) throw usageError('Give the body: "--body TEXT", "--body-file FILE" or stdin')
  return piped
}

/** @param to what the key is for, as in `Give one key to sign with` @throws SuiteError (`usage`) for two keys */
export function demandOneKey({ secrets = [], privateKey, publicKey }: KeyFlags, to: string): void {
  const named = [
    ...(privateKey === undefined ? [] : [`"--private-key ${privateKey}"`]),
    ...(publicKey === undefined ? [] : [`"--public-key ${publicKey}"`]),
    ...secrets.map(({ flag, name }) => `"--${flag} ${name}"`),
  ]
  if (named.length > 1) throw usageError(`Give one key to ${to} with: only one of ${named.join(', ')}`)
}

/** The key of the caller, and the other keys that were given: an ED25519 key first, then secrets in their order. @throws SuiteError (`usage`) without any key */
export function readKeys(
  flags: KeyFlags,
  around: Surroundings,
): { key: SigningKey; otherKeys: { name: string; key: SigningKey }[] } {
  const keys = [
    ...(flags.privateKey === undefined ? [] : [ed25519Key(flags.privateKey, 'private', around)]),
    ...(flags.publicKey === undefined ? [] : [ed25519Key(flags.publicKey, 'public', around)]),
    ...(flags.secrets ?? []).map(({ flag, name }) => {
      const secret = flag === 'secret-env' ? secretFromEnv(name, around) : secretFromFile(name, around)
      return { name, key: secretKey(secret, name) }
    }),
  ]
  const [first, ...otherKeys] = keys
  if (first === undefined) {
    throw usageError(
      'Give the key: "--secret-env NAME", "--secret-file FILE", "--private-key FILE" or, to check only, "--public-key FILE"',
    )
  }
  return { key: first.key, otherKeys }
}

function textOf(text: string, around: Surroundings): string {
  return text.startsWith('@') ? new TextDecoder().decode(bytesOf(text.slice(1), 'the request', around)) : text
}

/** Matches whole words as a shell reads them, up to the end of the command or a quote that is not closed. */
const closedWords =
  /^(?:[^'"\\$|;&<>\n]+|\\\r?\n|\\[\s\S]|'[^']*'|\$'(?:\\[\s\S]|[^'\\])*'|"(?:\\[\s\S]|[^"\\])*"|\$(?!'))*/

/** Refuses an incomplete curl line, because its body would be incomplete too. @throws SuiteError (`usage`) */
function demandClosedQuotes(text: string): void {
  const isRaw = /^\s*(> )?[A-Za-z]+ (\/|https?:)/.test(text)
  const curl = isRaw ? null : /(?:^|\n|\|)\s*\$?\s*curl(?:\.exe)?\s+/.exec(text)
  if (curl === null) return
  const start = curl.index + curl[0].length
  const end = start + (closedWords.exec(text.slice(start))?.[0].length ?? 0)
  const quote = /^\$?(['"])/.exec(text.slice(end))?.[1]
  if (quote !== undefined)
    throw usageError(
      `Cannot read the curl line in "--header": the quote ${quote} at character ${end + 1} is not closed; paste the whole line`,
    )
}

function bodyOf(flags: BodyFlags, pasted: PastedRequest, around: Surroundings): Uint8Array {
  if (flags.body !== undefined || flags.bodyFile !== undefined) return readBody(flags, around)
  if (pasted.bodyFile !== undefined) {
    const { path, withoutLineEnds } = pasted.bodyFile
    const bytes = path === '-' ? readBody({}, around) : bytesOf(path, 'the body', around)
    return withoutLineEnds ? bytes.filter((byte) => byte !== 0x0a && byte !== 0x0d && byte !== 0) : bytes
  }
  return pasted.body ?? readBody(flags, around)
}

function bytesOf(path: string, what: string, around: Surroundings): Uint8Array {
  try {
    return around.readFile(path, what)
  } catch (cause) {
    if (cause instanceof SuiteError) throw cause
    throw usageError(`Cannot read ${what} "${path}": ${fileProblem(cause, 'file')}`, { cause })
  }
}

/** @param place as in `Cannot use the secret "key.pem"` @throws SuiteError (`usage`) for a PEM, which is never a secret */
function secretKey(secret: string | Uint8Array, place: string): SigningKey {
  const text = typeof secret === 'string' ? secret : new TextDecoder().decode(secret)
  if (text.includes('-----BEGIN ')) {
    const how = 'give the file with "--private-key" or, to check only, with "--public-key"'
    throw usageError(`Cannot use the secret "${place}": it holds a PEM; ${how}`)
  }
  return { kind: 'secret', secret }
}

function secretFromEnv(name: string, { env }: Surroundings): string {
  const secret = given(env[name])
  if (secret === undefined) throw usageError(`Set the environment variable "${name}" to the secret: it is not set`)
  return secret
}

function secretFromFile(path: string, around: Surroundings): Uint8Array {
  const bytes = bytesOf(path, 'the secret', around)
  const end = bytes.at(-1) !== 0x0a ? bytes.length : bytes.at(-2) === 0x0d ? bytes.length - 2 : bytes.length - 1
  if (end <= 0) throw usageError(`Cannot use the secret "${path}": the file is empty`)
  return bytes.slice(0, end)
}

function ed25519Key(path: string, half: 'private' | 'public', around: Surroundings): { name: string; key: SigningKey } {
  const pem = new TextDecoder().decode(bytesOf(path, `the ${half} key`, around))
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
