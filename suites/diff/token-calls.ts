/** Calls of a session that grant, use and refresh tokens. */
import { basic, type Call, type Caller, token } from '../facts/caller.ts'
import { type GrantOptions, pairOf, requestGrant, requestRefresh } from '../facts/granted.ts'
import { type Memory, pairAt, type SessionCall } from './memory.ts'

const foreignAddress = '203.0.113.7'
const junkToken = 'svc-no-such-token'

function granting(name: string, scope: readonly string[], more?: (caller: Caller) => GrantOptions): SessionCall {
  return {
    name: `grant, ${name}`,
    needs: 'sessions',
    make: async (caller, memory) => {
      const reply = await requestGrant(caller, scope, more?.(caller))
      const pair = pairOf(reply)
      if (pair !== null) memory.pairs.push(pair)
      return reply
    },
  }
}

function using(name: string, what: (caller: Caller, access: string) => Call): SessionCall {
  return {
    name: `token, ${name}`,
    needs: 'sessions',
    make: (caller, memory, position) => caller.call(what(caller, pairAt(memory, position)?.access ?? junkToken)),
  }
}

async function refresh(caller: Caller, memory: Memory, position: number, more: object = {}) {
  const old = pairAt(memory, position)
  const reply = await requestRefresh(caller, old?.refresh ?? junkToken, more)
  const next = pairOf(reply)
  if (next !== null && old !== null) {
    memory.used.push(old)
    memory.pairs = memory.pairs.map((pair) => (pair === old ? next : pair))
  }
  return reply
}

const lastUsed = ({ used }: Memory) => used.at(-1)

export const tokenCalls: readonly SessionCall[] = [
  granting('solution', ['solution']),
  granting('solution and context', ['solution', 'context']),
  granting('context alone', ['context']),
  granting('apikey', ['apikey']),
  granting('apiKey', ['apiKey']),
  granting('scope in another case', ['Solution']),
  granting('an unknown scope', ['solution', 'svcUnknown']),
  granting('an empty scope', []),
  granting('expiresIn of a minute', ['solution', 'expiresIn:60000']),
  granting('expiresIn of 0', ['solution', 'expiresIn:0']),
  granting('expiresIn of 300 years', ['solution', 'expiresIn:9467280000000']),
  granting('for another address', ['solution', `ipAddr:${foreignAddress}`]),
  granting('session one', ['solution', 'session:svc-diff-one']),
  granting('session two', ['solution', 'session:svc-diff-two']),
  granting('a right header', ['solution'], (caller) => ({ auth: basic(caller) })),
  granting('a wrong header', ['solution'], (caller) => ({ auth: basic(caller, { secret: 'svc-wrong-secret' }) })),
  granting('wrong secret', ['solution'], () => ({ secret: 'svc-wrong-secret' })),
  granting('unknown key', ['solution'], () => ({ id: 'svc-no-such-key' })),
  {
    name: 'grant, unknown grant type',
    needs: 'sessions',
    make: (caller) => caller.call({ method: 'manager/auth', params: { grantType: 'svc' } }),
  },
  using('listing', (caller, access) => ({ auth: token(caller, access) })),
  using('listing again', (caller, access) => ({ auth: token(caller, access) })),
  using('with a forwarding header', (caller, access) => ({
    auth: token(caller, access),
    headers: [['x-forwarded-for', foreignAddress]],
  })),
  using('its word in lower case', (caller, access) => ({ auth: token(caller, access, 'bearer') })),
  using('without a word', (caller, access) => ({ auth: token(caller, access, '') })),
  using('the word Token', (caller, access) => ({ auth: token(caller, access, 'Token') })),
  using('createApiKey without params', (caller, access) => ({
    auth: token(caller, access),
    method: 'manager/createApiKey',
  })),
  using('a further param', (caller, access) => ({ auth: token(caller, access), params: { extra: 1 } })),
  { name: 'refresh', needs: 'sessions', make: refresh },
  {
    name: 'refresh with a scope',
    needs: 'sessions',
    make: (caller, memory, position) => refresh(caller, memory, position, { scope: ['solution'] }),
  },
  { name: 'refresh, junk token', needs: 'sessions', make: (caller) => requestRefresh(caller, junkToken) },
  {
    name: 'refresh, a used token',
    needs: 'sessions',
    make: (caller, memory) => requestRefresh(caller, lastUsed(memory)?.refresh ?? junkToken),
  },
  {
    name: 'token, revoked',
    needs: 'sessions',
    make: (caller, memory) => caller.call({ auth: token(caller, lastUsed(memory)?.access ?? junkToken) }),
  },
]
