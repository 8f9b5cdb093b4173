/** Clients that ask for other scopes than they should, or do not read what they got: interface.md §5.4 and §8, RFC 9700 §2.3. */
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { call, clientOf, createClient, defaultParts } from '../core.mjs'

const auth = ['token']

const elsewhere = new Agent({ localAddress: '127.0.0.12' })

const asks = (alter) => ({ scopeAsked: ({ scope, memory }) => alter(scope, memory) })
const without = (prefix) => asks((scope) => scope.filter((entry) => !entry.startsWith(prefix)))
const rewrites = (prefix, write) =>
  asks((scope) => scope.map((entry) => (entry.startsWith(prefix) ? prefix + write(entry.slice(prefix.length)) : entry)))
const adds = (entries) => asks((scope) => [...new Set([...scope, ...entries])])

/** Requests another session than the one in the scope. */
const sessionOf = (nameOf) =>
  asks((scope, memory) => [...scope.filter((entry) => !entry.startsWith('session:')), `session:${nameOf(memory)}`])

const lifetime = clientOf(auth, 'scopes/lifetime')
const writesLifetime = clientOf(auth, 'scopes/lifetime', (write) => rewrites('expiresIn:', write))
const addressAndSession = clientOf(auth, 'scopes/address-and-session')
const writesAddress = clientOf(auth, 'scopes/address-and-session', (write) => rewrites('ipAddr:', write))
const least = clientOf(auth, 'scopes/least', adds)
const grantedIsRead = clientOf(auth, 'scopes/granted-is-read')
const namesSession = clientOf(auth, 'limits/keys-and-sessions-reused', sessionOf)

export const scopeClients = [
  lifetime('lifetime-dropped', 'Leaves expiresIn out of the scope', without('expiresIn:')),
  writesLifetime('lifetime-in-seconds', 'Writes expiresIn in seconds', (ms) => Math.ceil(Number(ms) / 1000)),
  lifetime('lifetime-as-param', 'Sends expiresIn as a separate param', {
    ...without('expiresIn:'),
    grantParams(client) {
      const entry = client.scope.find((one) => one.startsWith('expiresIn:'))
      const params = defaultParts.grantParams(client)
      return entry ? { ...params, expiresIn: Number(entry.slice('expiresIn:'.length)) } : params
    },
  }),
  writesLifetime('lifetime-with-unit', 'Writes a unit after the number of expiresIn', (ms) => `${ms}ms`),

  addressAndSession('address-dropped', 'Leaves ipAddr out of the scope', without('ipAddr:')),
  writesAddress('address-any', 'Asks for ipAddr:0.0.0.0 in place of its address', () => '0.0.0.0'),
  writesAddress('address-with-mask', 'Writes a mask after the address', (address) => `${address}/32`),
  addressAndSession('address-left', 'Sends its calls from another address than its grant', {
    exchange: (client, wire) =>
      defaultParts.exchange(wire.headers.authorization ? { ...client, agent: elsewhere } : client, wire),
  }),
  addressAndSession('session-dropped', 'Leaves session out of the scope', without('session:')),
  addressAndSession(
    'session-prefixed',
    'Puts its own name before the name of the session',
    rewrites('session:', (name) => `svc-client-${name}`),
  ),

  least('all-areas-asked', 'Asks for every area', ['solution', 'context', 'thread', 'store', 'inbox', 'stream']),
  least('all-contexts-asked', 'Adds solution:* to every grant', ['solution:*']),
  least('context-asked', 'Adds the area context to every grant', ['context']),
  least('key-management-asked', 'Adds apiKey to every grant', ['apiKey']),

  grantedIsRead('narrow-grant-not-seen', 'Makes its calls with a token that was granted less', {
    checkGranted: () => undefined,
    needsRenewal: (client, pair) => !isNarrow(client, pair) && defaultParts.needsRenewal(client, pair),
  }),
  grantedIsRead('narrow-grant-renewed-per-call', 'Renews for every call that a narrow grant does not allow', {
    checkGranted: () => undefined,
    renew(client) {
      client.renewalsAfterRefusal = 0
      return defaultParts.renew(client)
    },
  }),
  grantedIsRead(
    'asked-lifetime-trusted',
    'Relies on the lifetime that it requested, and trusts it more than a refusal',
    {
      readPair(client, result) {
        const pair = defaultParts.readPair(client, result)
        const asked = client.scope.find((entry) => entry.startsWith('expiresIn:'))
        const lifeMs = asked ? Number(asked.slice('expiresIn:'.length)) : 900_000
        return pair && { ...pair, expiryMs: pair.receivedAtMs + lifeMs }
      },
      noteRefused: () => undefined,
    },
  ),

  namesSession('session-per-start', 'Asks for a session with a new random name at every start', (memory) => {
    memory.session ??= randomUUID()
    return memory.session
  }),
  namesSession('session-per-grant', 'Asks for a session with a new random name at every grant', () => randomUUID()),
  namesSession('session-of-process', 'Names its session after its process', () => `pid-${process.pid}`),
  clientOf(['hmac', 'token'], 'limits/keys-and-sessions-reused')(
    'key-per-start',
    'Creates an API key for itself at every start',
    { start: createKey },
  ),
]

const isNarrow = ({ scope: asked }, { scope }) =>
  Array.isArray(scope) && asked.some((entry) => /^[a-zA-Z]+$/.test(entry) && !scope.includes(entry))

/** Creates a key with the given one and goes on with it. */
async function createKey(client) {
  const creator = createClient({ ...client.env, SVC_AUTH: 'hmac' })
  try {
    const { id, secret } = await call(creator, 'manager/createApiKey')
    client.env = { ...client.env, SVC_KEY_ID: id, SVC_KEY_SECRET: secret }
  } catch (error) {
    client.parts.complain(error.message)
  }
  creator.agent.destroy()
}
