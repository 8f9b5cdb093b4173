/** Right clients that differ in how they make calls: connections, ids, JSON, retries, processes. */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { Agent } from 'node:http'
import { createInterface } from 'node:readline'
import { clientOf, defaultParts } from '../core.mjs'

const inEveryWay = clientOf(['hmac', 'ecc', 'basic', 'token'])

const withAgent = (options) => ({
  start: async (client) => {
    client.agent = new Agent(options)
  },
})

export const callingClients = [
  inEveryWay('plain', 'The core as it is', {}),
  inEveryWay(
    'connection-per-call',
    'Opens a connection for every request and closes it after the answer',
    withAgent({ keepAlive: false }),
  ),
  inEveryWay(
    'one-connection',
    'Sends everything over one connection, one request after the other',
    withAgent({ keepAlive: true, maxSockets: 1 }),
  ),
  inEveryWay('random-ids', 'Chooses random ids up to 2^47', { nextId: () => randomInt(2 ** 47) }),
  inEveryWay('descending-ids', 'Counts its ids down from zero', { nextId: (client) => client.lastId-- }),
  inEveryWay('constant-id', 'Uses the id 1 for every request, since HTTP itself says which answer belongs to which', {
    nextId: () => 1,
  }),
  inEveryWay(
    'spaced-json',
    'Writes its JSON with spaces, line breaks and the members in another order, and signs exactly that',
    {
      envelope: ({ id, method, params }) => ({ params, method, id, jsonrpc: '2.0' }),
      writeBody: (envelope) => `${JSON.stringify(envelope, null, 2)}\n`,
    },
  ),
  inEveryWay('escaped-json', 'Writes the slash of a method as \\/ as some JSON writers do, and signs exactly that', {
    writeBody: (envelope) => JSON.stringify(envelope).replaceAll('/', '\\/'),
  }),
  inEveryWay('content-type-charset', 'Sends Content-Type: application/json; charset=utf-8', {
    contentType: () => 'application/json; charset=utf-8',
  }),
  inEveryWay('further-headers', 'Sends further headers: Accept, User-Agent, a request id', {
    furtherHeaders: () => ({ Accept: 'application/json', 'User-Agent': 'svc-client/1.0', 'X-Request-Id': 'r1' }),
  }),
  inEveryWay('chunked-bodies', 'Sends its bodies chunked, without Content-Length', {
    exchange: (client, { headers: { 'content-length': _length, ...headers }, ...wire }) =>
      defaultParts.exchange(client, { ...wire, headers: { ...headers, 'transfer-encoding': 'chunked' } }),
  }),
  inEveryWay('fetch', 'Sends with fetch and does not follow redirects', {
    async exchange(client, { httpMethod: method, path, headers, body }) {
      const { 'content-length': _length, ...further } = headers
      const init = { method, headers: further, body, redirect: 'manual', signal: AbortSignal.timeout(4000) }
      const response = await fetch(new URL(path, client.url), init)
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
    },
  }),
  inEveryWay(
    'no-retries',
    'Never makes a call twice: what is refused, throttled or lost is an error; the next call heeds what was learnt',
    { triesAgain: () => false },
  ),
  inEveryWay('one-retry', 'Makes a call at most twice', {
    triesAgain: (client, made) => made.tries < 2 && defaultParts.triesAgain(client, made),
  }),
  inEveryWay('two-processes', 'Shares its parallel calls between two processes, each with its own tokens', {
    runCalls: runInTwoProcesses,
  }),
]

async function runInTwoProcesses(client) {
  const { SVC_CALLS = '1', SVC_PARALLEL = '1' } = client.env
  const calls = Number(SVC_CALLS)
  const parallel = Number(SVC_PARALLEL)
  if (parallel < 2 || calls < 2) return defaultParts.runCalls(client)
  const halves = [Math.floor, Math.ceil].map((round) => [round(calls / 2), round(parallel / 2)])
  await Promise.all(halves.map(([callsOfIt, parallelOfIt]) => runPart(client, callsOfIt, parallelOfIt)))
}

function runPart(client, calls, parallel) {
  const run = new URL('../run.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [run, 'plain'], {
    env: { ...client.env, SVC_CALLS: String(calls), SVC_PARALLEL: String(parallel) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface({ input: child.stdout }).on('line', client.parts.print)
  return new Promise((resolve, reject) => child.once('close', resolve).once('error', reject))
}
