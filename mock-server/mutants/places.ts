import type { MockRequest } from '../http-server.ts'
import { type Rules, rules } from '../rules.ts'
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

type Members = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null

function requestOf({ body }: MockRequest): Members {
  try {
    const request: unknown = JSON.parse(body.toString('utf8'))
    return isMembers(request) ? request : {}
  } catch {
    return {}
  }
}

const paramsOf = (request: MockRequest): Members => {
  const { params } = requestOf(request)
  return isMembers(params) ? params : {}
}

const textIn = (members: Members, name: string): string | undefined =>
  typeof members[name] === 'string' ? members[name] : undefined

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
  {
    id: 'token-as-member-of-request-taken',
    breaks: 'tokens/authorize',
    with: { headerOf: headerOrElse((request) => asToken(textIn(requestOf(request), 'auth'))) },
  },
  {
    id: 'token-as-param-taken',
    breaks: 'tokens/authorize',
    with: { headerOf: headerOrElse((request) => asToken(textIn(paramsOf(request), 'token'))) },
    profile: { extraParams: 'ignored' },
  },
  {
    id: 'token-in-query-taken',
    breaks: 'tokens/authorize',
    with: {
      isCall: (httpMethod, target, callPath, body) =>
        rules.isCall(httpMethod, target.split('?')[0] ?? '', callPath, body),
      headerOf: headerOrElse(({ target }) =>
        asToken(new URLSearchParams(target.split('?')[1]).get('access_token') ?? undefined),
      ),
    },
  },
  {
    id: 'key-in-params-taken',
    breaks: 'authorization/required',
    profile: { extraParams: 'ignored' },
    with: {
      headerOf: headerOrElse((request) => {
        const params = paramsOf(request)
        return textIn(params, 'grantType') === undefined
          ? asBasic(textIn(params, 'apiKeyId'), textIn(params, 'apiKeySecret'))
          : undefined
      }),
    },
  },
]
