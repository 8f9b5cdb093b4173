/** Calls of a session that grant, use and refresh tokens. */
import { type Ask, type Asker, basic, token } from '../facts/asker.ts'
import { askGrant, askRefresh, pairOf } from '../facts/granted.ts'
import { type Memory, pairAt, type SessionCall } from './memory.ts'

const foreignAddress = '203.0.113.7'
const junkToken = 'svc-no-such-token'

function granting(
  name: string,
  scope: readonly string[],
  more?: (asker: Asker) => Omit<Ask, 'method' | 'params'>,
): SessionCall {
  return {
    name: `grant, ${name}`,
    needs: 'sessions',
    ask: async (asker, memory) => {
      const reply = await askGrant(asker, scope, more?.(asker))
      const pair = pairOf(reply)
      if (pair !== null) memory.pairs.push(pair)
      return reply
    },
  }
}

const grantingWith = (name: string, params: (asker: Asker) => object): SessionCall => ({
  name: `grant, ${name}`,
  needs: 'sessions',
  ask: (asker) => asker.ask({ method: 'manager/auth', params: params(asker) }),
})

function using(name: string, what: (asker: Asker, access: string) => Ask): SessionCall {
  return {
    name: `token, ${name}`,
    needs: 'sessions',
    ask: (asker, memory, position) => asker.ask(what(asker, pairAt(memory, position)?.access ?? junkToken)),
  }
}

async function refresh(asker: Asker, memory: Memory, position: number, more: object = {}) {
  const old = pairAt(memory, position)
  const reply = await askRefresh(asker, old?.refresh ?? junkToken, more)
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
  granting('a right header', ['solution'], (asker) => ({ auth: basic(asker) })),
  granting('a wrong header', ['solution'], (asker) => ({ auth: basic(asker, { secret: 'svc-wrong-secret' }) })),
  grantingWith('wrong secret', ({ keyId: apiKeyId }) => ({
    grantType: 'api_key_credentials',
    scope: ['solution'],
    apiKeyId,
    apiKeySecret: 'svc-wrong-secret',
  })),
  grantingWith('unknown key', ({ secret: apiKeySecret }) => ({
    grantType: 'api_key_credentials',
    scope: ['solution'],
    apiKeyId: 'svc-no-such-key',
    apiKeySecret,
  })),
  grantingWith('unknown grant type', () => ({ grantType: 'svc' })),
  using('listing', (asker, access) => ({ auth: token(asker, access) })),
  using('listing again', (asker, access) => ({ auth: token(asker, access) })),
  using('with a forwarding header', (asker, access) => ({
    auth: token(asker, access),
    headers: [['x-forwarded-for', foreignAddress]],
  })),
  using('its word in lower case', (asker, access) => ({ auth: token(asker, access, 'bearer') })),
  using('without a word', (asker, access) => ({ auth: token(asker, access, '') })),
  using('the word Token', (asker, access) => ({ auth: token(asker, access, 'Token') })),
  using('createApiKey without params', (asker, access) => ({
    auth: token(asker, access),
    method: 'manager/createApiKey',
  })),
  using('a further param', (asker, access) => ({ auth: token(asker, access), params: { extra: 1 } })),
  { name: 'refresh', needs: 'sessions', ask: refresh },
  {
    name: 'refresh with a scope',
    needs: 'sessions',
    ask: (asker, memory, position) => refresh(asker, memory, position, { scope: ['solution'] }),
  },
  { name: 'refresh, junk token', needs: 'sessions', ask: (asker) => askRefresh(asker, junkToken) },
  {
    name: 'refresh, a used token',
    needs: 'sessions',
    ask: (asker, memory) => askRefresh(asker, lastUsed(memory)?.refresh ?? junkToken),
  },
  {
    name: 'token, revoked',
    needs: 'sessions',
    ask: (asker, memory) => asker.ask({ auth: token(asker, lastUsed(memory)?.access ?? junkToken) }),
  },
]
