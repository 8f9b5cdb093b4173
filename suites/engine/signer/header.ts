/** The Authorization header of a signed request: `<scheme> <key id>;1;<timestamp>;<nonce>;<signature>` (signatures/header-fields). */

export const version = '1'

export interface HeaderFields {
  keyId: string
  version: string
  timestamp: string
  nonce: string
  signature: string
}

/** The value of the header; without a scheme word (only ever a mistake) the fields alone. */
export function writeHeader(scheme: string, fields: readonly string[]): string {
  return scheme === '' ? fields.join(';') : `${scheme} ${fields.join(';')}`
}

/** Scheme word and fields of a header value as they stand; an `Authorization:` in front is dropped. */
export function splitHeader(header: string): { scheme: string; fields: string[] } {
  const value = header.trim().replace(/^authorization\s*:\s*/i, '')
  const space = value.indexOf(' ')
  return space < 0
    ? { scheme: '', fields: value.split(';') }
    : { scheme: value.slice(0, space), fields: value.slice(space + 1).split(';') }
}
