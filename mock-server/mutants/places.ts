import type { MockRequest } from '../http.ts'
import type { Rules } from '../rules.ts'
import type { Mutant } from './mutant.ts'

/** Reads the Authorization header; without one, reads credentials from another place, as a careless framework would. */
const headerOrElse =
  (other: (request: MockRequest) => string | undefined): Rules['headerOf'] =>
  (request) =>
    request.headers.authorization ?? other(request)

/** An empty text is no token. */
const asToken = (token: string | undefined): string | undefined => (token ? `Bearer ${token}` : undefined)
const asBasic = (id: string | undefined, secret: string | undefined): string | undefined =>
  id !== undefined && secret !== undefined ? `Basic ${btoa(`${id}:${secret}`)}` : undefined

/** Part 5: where credentials are taken from. */
export const placeMutants: Mutant[] = [
  {
    id: 'token-in-another-header-taken',
    breaks: 'tokens/authorize',
    with: { headerOf: headerOrElse(({ headers }) => asToken(headers['x-access-token'] ?? headers['x-auth-token'])) },
  },
  {
    id: 'x-authorization-taken',
    breaks: 'tokens/authorize',
    with: { headerOf: headerOrElse(({ headers }) => headers['x-authorization']) },
  },
  {
    id: 'token-in-cookie-taken',
    breaks: 'tokens/authorize',
    with: { headerOf: headerOrElse(({ headers }) => asToken(/(?:^|; )token=([^;]*)/.exec(headers.cookie ?? '')?.[1])) },
  },
  {
    id: 'key-in-another-header-taken',
    breaks: 'authorization/required',
    with: { headerOf: headerOrElse(({ headers }) => asBasic(headers['x-api-key-id'], headers['x-api-key'])) },
  },
]
