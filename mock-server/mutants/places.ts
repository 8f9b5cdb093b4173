import type { MockRequest } from '../http.ts'
import type { Rules } from '../rules.ts'
import type { Mutant } from './mutant.ts'

/** The Authorization header, or what a careless framework takes instead; an empty text is nothing. */
const orElse =
  (other: (request: MockRequest) => string | undefined): Rules['headerOf'] =>
  (request) =>
    request.headers.authorization ?? other(request)

const asToken = (token: string | undefined): string | undefined => (token ? `Bearer ${token}` : undefined)
const asBasic = (id: string | undefined, secret: string | undefined): string | undefined =>
  id !== undefined && secret !== undefined ? `Basic ${btoa(`${id}:${secret}`)}` : undefined

/** Part 5: where credentials are taken from. */
export const placeMutants: Mutant[] = [
  {
    id: 'token-in-another-header-taken',
    breaks: 'authorization/required',
    with: { headerOf: orElse(({ headers }) => asToken(headers['x-access-token'] ?? headers['x-auth-token'])) },
  },
  {
    id: 'x-authorization-taken',
    breaks: 'authorization/required',
    with: { headerOf: orElse(({ headers }) => headers['x-authorization']) },
  },
  {
    id: 'token-in-cookie-taken',
    breaks: 'authorization/required',
    with: { headerOf: orElse(({ headers }) => asToken(/(?:^|; )token=([^;]*)/.exec(headers.cookie ?? '')?.[1])) },
  },
  {
    id: 'key-in-another-header-taken',
    breaks: 'authorization/required',
    with: { headerOf: orElse(({ headers }) => asBasic(headers['x-api-key-id'], headers['x-api-key'])) },
  },
]
