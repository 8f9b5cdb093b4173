import type { Seat } from '../seat.ts'

/** Params that carry a secret, rightly or wrongly. */
const secretParams = ['apiKeySecret', 'refreshToken']

/**
 * A secret that a step spoiled is as good as the secret, and a server may repeat it in its answer: what is sent as one must not appear in
 * a report either.
 *
 * @param header of the Authorization, if there is one
 */
export function rememberSent(seat: Seat, header: string | undefined, params: unknown): void {
  const sent = [...inHeader(header ?? ''), ...inParams(params)]
  const ids = new Set([...seat.cast.values()].map(({ id }) => id))
  for (const text of sent) if (!ids.has(text)) seat.redactor.add(text)
}

function inHeader(header: string): string[] {
  const [scheme = '', ...rest] = header.split(' ')
  const credentials = rest.length === 0 ? scheme : rest.join(' ')
  // A signature is good for its own request only.
  if (credentials.includes(';')) return []
  if (scheme !== 'Basic') return [credentials]
  const decoded = fromBase64(credentials)
  return [credentials, decoded, decoded.slice(decoded.indexOf(':') + 1)]
}

function inParams(params: unknown): string[] {
  if (typeof params !== 'object' || params === null) return []
  return Object.entries(params).flatMap(([name, value]) =>
    secretParams.includes(name) && typeof value === 'string' ? [value] : [],
  )
}

/** What is no BASE64 has nothing hidden in it. */
function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  } catch {
    return ''
  }
}
