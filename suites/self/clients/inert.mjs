/** Clients that prove nothing, since no call of theirs reaches the server. */
import { connect } from 'node:net'

const printLines = (word) => async (client) => {
  const calls = Number(client.env.SVC_CALLS || 1)
  for (let printed = 0; printed < calls; printed += 1) client.parts.print(word)
}

export const inertClients = [
  {
    id: 'exits-at-once',
    auth: ['hmac', 'ecc', 'basic', 'token'],
    about: 'Exits with 0 and prints nothing',
    parts: { runCalls: async () => undefined },
  },
  {
    id: 'exits-with-one',
    auth: ['hmac'],
    about: 'Exits with 1 and prints nothing, like an adapter with a mistake in its first line',
    parts: {
      runCalls: async () => {
        process.exitCode = 1
      },
    },
  },
  {
    id: 'ok-without-a-call',
    auth: ['hmac', 'ecc', 'basic', 'token'],
    about: 'Prints ok for every call and makes none',
    parts: { runCalls: printLines('ok') },
  },
  {
    id: 'error-without-a-call',
    auth: ['hmac', 'token'],
    about: 'Prints error for every call and makes none',
    parts: { runCalls: printLines('error') },
  },
  {
    id: 'calls-another-port',
    auth: ['hmac', 'token'],
    about: 'Makes its calls to a port where nobody listens',
    parts: {
      start: async (client) => {
        client.url = new URL('http://127.0.0.1:9')
      },
    },
  },
  {
    id: 'connects-only',
    auth: ['hmac'],
    about: 'Opens a connection, sends nothing, and prints error',
    parts: {
      runCalls: async (client) => {
        const socket = connect(Number(client.url.port), client.url.hostname)
        await new Promise((resolve) => socket.once('connect', resolve).once('error', resolve))
        socket.destroy()
        await printLines('error')(client)
      },
    },
  },
]
