import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { defaultScheme } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { fromLatin1, fromUtf8, toBase64, toHex } from '../engine/signer/bytes.ts'
import { type Signed, type SignInput, sign } from '../engine/signer/sign.ts'
import { baseUrl } from '../run/values.ts'
import { writeOut } from './console.ts'
import {
  addBodyFlags,
  addKeyFlags,
  type BodyFlags,
  demandOneKey,
  type KeyFlags,
  processSurroundings,
  readBody,
  readKeys,
  type Surroundings,
} from './signature-flags.ts'
import { curlLine, hexRows, visibleLines } from './visible.ts'

interface SignFlags extends KeyFlags, BodyFlags {
  method: string
  uri: string
  keyId: string
  timestamp?: string
  nonce?: string
  scheme: string
  url: string
  json?: boolean
}

/** `sign`: every stage of a signature, and a header that works. */
export function registerSign(program: Command): void {
  const command = program
    .command('sign')
    .description('sign a request and show every stage, with a curl line that sends it')
  addKeyFlags(addBodyFlags(command))
    .requiredOption('--key-id <id>', 'API key id')
    .option('--method <method>', 'HTTP method', 'POST')
    .option('--uri <uri>', 'URI to sign', '/api')
    .option('--timestamp <ms>', 'milliseconds since 1970 (default: now)')
    .option('--nonce <text>', 'nonce (default: random)')
    .option('--scheme <word>', 'scheme word of the service', defaultScheme)
    .option('--url <url>', 'base URL for the curl line', 'http://127.0.0.1:8080')
    .option('--json', 'print JSON')
    .action((flags: SignFlags) => {
      const input = signInputOf(flags, processSurroundings, { nowMs: Date.now(), nonce: toBase64(randomBytes(18)) })
      const url = baseUrl(flags.url)
      const signed = sign(input)
      writeOut(flags.json === true ? jsonLine(signJson(signed)) : printableLines(signText(input, signed, url)))
    })
}

/** What to sign. @throws SuiteError (`usage`) */
export function signInputOf(
  flags: SignFlags,
  around: Surroundings,
  fresh: { nowMs: number; nonce: string },
): SignInput {
  const { keyId, method, uri, scheme, timestamp = String(fresh.nowMs), nonce = fresh.nonce } = flags
  if (!/^\d+$/.test(timestamp))
    throw usageError(`Cannot use "${timestamp}" for "--timestamp": expected milliseconds since 1970`)
  for (const [flag, value] of [
    ['--key-id', keyId],
    ['--nonce', nonce],
  ] as const) {
    if (value.includes(';') || value === '')
      throw usageError(
        `Cannot use "${value}" for "${flag}": it must not be empty or hold a semicolon, which separates fields`,
      )
  }
  demandOneKey(flags, 'sign')
  const { key } = readKeys(flags, around)
  return { scheme, keyId, key, method, uri, body: readBody(flags, around), timestamp, nonce }
}

/** What `sign --json` prints. */
export function signJson({ dataToSign, mac, macFirst20, signature, header }: Signed) {
  return {
    dataToSign: fromUtf8(dataToSign) ?? fromLatin1(dataToSign),
    dataToSignHex: toHex(dataToSign),
    ...(mac === undefined || macFirst20 === undefined ? {} : { mac: toHex(mac), macFirst20: toHex(macFirst20) }),
    signature,
    header,
  }
}

/** What `sign` prints for people. @param url the base URL, without a trailing slash */
export function signText({ method, uri, body }: SignInput, signed: Signed, url: string): string {
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
