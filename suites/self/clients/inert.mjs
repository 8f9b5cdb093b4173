/** Clients that prove nothing, since no call of theirs reaches the server. */
import { connect } from 'node:net'
import { clientOf } from './core.mjs'

const printLines = (word) => async (client) => {
  const calls = Number(client.env.SVC_CALLS || 1)
  for (let printed = 0; printed < calls; printed += 1) client.parts.print(word)
}

export const inertClients = [
  clientOf(['hmac', 'ecc', 'basic', 'token'])('exits-at-once', 'Exits with 0 and prints nothing', {
    runCalls: async () => undefined,
  }),
  clientOf(['hmac'])(
    'exits-with-one',
    'Exits with 1 and prints nothing, like an adapter with a mistake in its first line',
    {
      runCalls: async () => {
        process.exitCode = 1
      },
    },
  ),
  clientOf(['hmac', 'ecc', 'basic', 'token'])('ok-without-a-call', 'Prints ok for every call and makes none', {
    runCalls: printLines('ok'),
  }),
  clientOf(['hmac', 'token'])('error-without-a-call', 'Prints error for every call and makes none', {
    runCalls: printLines('error'),
  }),
  clientOf(['hmac', 'token'])('calls-another-port', 'Makes its calls to a port where nobody listens', {
    start: async (client) => {
      client.url = new URL('http://127.0.0.1:9')
    },
  }),
  clientOf(['hmac'])('connects-only', 'Opens a connection, sends nothing, and prints error', {
    runCalls: async (client) => {
      const socket = connect(Number(client.url.port), client.url.hostname)
      await new Promise((resolve) => socket.once('connect', resolve).once('error', resolve))
      socket.destroy()
      await printLines('error')(client)
    },
  }),
]
