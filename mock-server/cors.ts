import type { MockRequest } from './http.ts'

/** Origins that a browser client may call from; `*` stands for any. */
type CorsOrigins = readonly string[]

/** The headers that let a page of an allowed origin read the answer; empty for any other caller. */
export function corsHeaders(origins: CorsOrigins, request: MockRequest): { [name: string]: string } {
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'date, retry-after, x-refused-at',
    vary: 'origin',
  }
}

/** The headers of the answer to a preflight; undefined for any other request. */
export function preflightHeaders(origins: CorsOrigins, request: MockRequest): { [name: string]: string } | undefined {
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return undefined
  const allowed = corsHeaders(origins, request)
  if (Object.keys(allowed).length === 0) return undefined
  return {
    ...allowed,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-max-age': '600',
  }
}
