import type { Exchange, Setting } from '../journal.ts'

/** The kind of an Authorization header, as it claims. */
export type Authorization =
  | { kind: 'none' }
  /** A signature, or an attempt at one. */
  | { kind: 'signature'; header: string }
  /** null: not BASE64 of `id:secret`. */
  | { kind: 'basic'; header: string; credentials: { id: string; secret: string } | null }
  | { kind: 'token'; header: string; token: string }
  | { kind: 'other'; header: string }

/** The value of a header of a request, its first one; names are compared in lower case. */
export function headerOf({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  return headers.find(([other]) => other.toLowerCase() === name)?.[1]
}

/** Reads the Authorization header of a request. @param isToken whether the server issued this text as a token */
export function readAuthorization(
  exchange: Pick<Exchange, 'headers'>,
  { auth, scheme, tokenPrefix }: Setting,
  isToken: (text: string) => boolean,
): Authorization {
  const header = headerOf(exchange, 'authorization')
  if (header === undefined || header === '') return { kind: 'none' }
  const space = header.indexOf(' ')
  const word = header.slice(0, Math.max(space, 0)).toLowerCase()
  const rest = header.slice(space + 1)
  if (word === scheme.toLowerCase()) return { kind: 'signature', header }
  if (word === 'basic') return { kind: 'basic', header, credentials: basicCredentials(rest) }
  if (isToken(rest) || word === tokenPrefix.toLowerCase()) return { kind: 'token', header, token: rest }
  const looksSigned = rest.split(/[;,]/).length >= 4
  return looksSigned || auth === 'hmac' || auth === 'ecc' ? { kind: 'signature', header } : { kind: 'other', header }
}

function basicCredentials(text: string): { id: string; secret: string } | null {
  const plain = Buffer.from(text.trim(), 'base64').toString('utf8')
  const colon = plain.indexOf(':')
  return colon < 0 ? null : { id: plain.slice(0, colon), secret: plain.slice(colon + 1) }
}
