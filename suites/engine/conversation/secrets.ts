import { membersOf } from '../json.ts'
import type { Caller } from './caller.ts'
import { wordOfTokens } from './target-facts.ts'

/** Params that carry a secret, rightly or wrongly. */
const secretParams = ['apiKeySecret', 'refreshToken']

/** Words that cases send in place of credentials, or before them. Treated as secrets, they would be cut out of every header. */
const ordinaryWords = ['Basic', 'Bearer', 'Token', 'undefined']

/**
 * A secret that a step altered gives the secret away, and a server may repeat it in its answer. So altered secrets must not appear in a
 * report either.
 *
 * @param header the Authorization header, if any
 */
export function rememberSent(caller: Caller, header: string | undefined, params: unknown): void {
  const sent = [...inHeader(header ?? ''), ...inParams(params)]
  const ids = new Set([...caller.testKeys.values()].map(({ id }) => id))
  const words = wordsOf(caller)
  for (const text of sent) if (!ids.has(text) && !words.has(text.trim().toLowerCase())) caller.redactor.add(text)
}

/** In lower case, because the words of a header are not case-sensitive. */
function wordsOf({ instance, facts }: Caller): Set<string> {
  const { scheme } = instance.settings
  // The prefix in use may be the token type that the server reported.
  const words = [...ordinaryWords, scheme, wordOfTokens(instance.settings, facts) ?? '', wordOfTokens({}, facts) ?? '']
  return new Set(words.map((word) => word.toLowerCase()))
}

function inHeader(header: string): string[] {
  const [scheme = '', ...rest] = header.split(' ')
  const credentials = rest.length === 0 ? scheme : rest.join(' ')
  // A signature is valid only for its own request.
  if (credentials.includes(';')) return []
  if (scheme.toLowerCase() !== 'basic') return [credentials]
  const decoded = fromBase64(credentials)
  return [credentials, decoded, decoded.slice(decoded.indexOf(':') + 1)]
}

function inParams(params: unknown): string[] {
  return Object.entries(membersOf(params)).flatMap(([name, value]) =>
    secretParams.includes(name) && typeof value === 'string' ? [value] : [],
  )
}

/** Text that is not BASE64 hides nothing. */
function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  } catch {
    return ''
  }
}
