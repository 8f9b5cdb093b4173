import type { MockRequest } from '../http-server.ts'

/** The parts of a JSON-RPC request that variants read; empty if the body is something else. */
function readCall({ body }: MockRequest): { method?: unknown; params?: { [name: string]: unknown } } {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

export const isMethod = (request: MockRequest, method: string): boolean => readCall(request).method === method

/** The first word of the Authorization header, and the rest. */
function readAuthorization(request: MockRequest): { word: string; credentials: string } {
  const header = request.headers.authorization ?? ''
  const space = header.indexOf(' ')
  return space < 0
    ? { word: '', credentials: header }
    : { word: header.slice(0, space), credentials: header.slice(space + 1) }
}

/** The id of the API key that a request names in a signature, in Basic credentials or in a grant. */
export function namedKeyId(request: MockRequest): string | undefined {
  const { word, credentials } = readAuthorization(request)
  if (word.toLowerCase() === 'basic') return Buffer.from(credentials, 'base64').toString('utf8').split(':')[0]
  if (credentials.includes(';')) return credentials.split(';')[0]
  if (credentials !== '') return undefined
  const id = readCall(request).params?.apiKeyId
  return typeof id === 'string' ? id : undefined
}
