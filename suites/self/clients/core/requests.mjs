/** The parts that make a request and send it. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

const timeoutMs = 8000

export const requestParts = {
  httpMethod: () => 'POST',
  path: (client) => `${client.basePath}/api`,
  contentType: () => 'application/json',
  furtherHeaders: () => ({}),
  nextId: (client) => (client.lastId += 1),
  envelope: ({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params }),
  writeBody: (envelope) => JSON.stringify(envelope),
  /** The body as it goes over the wire; a right client signs exactly this. */
  bodyAsSent: (body) => body,
  /** The last place where a request can be changed: `{ httpMethod, path, headers, body }`. */
  finish: (_client, wire) => wire,

  /** Waits until a Retry-After is over (RFC 9110 §10.2.3). */
  async keepSilence(client) {
    for (let waitMs = client.silentUntil - Date.now(); waitMs > 0; waitMs = client.silentUntil - Date.now())
      await sleep(waitMs)
  },

  async attempt(client, request) {
    const { parts } = client
    await parts.keepSilence(client, request)
    const id = parts.nextId(client)
    const body = parts.writeBody(
      parts.envelope({ id, method: request.method, params: request.params }, request),
      client,
    )
    const wire = parts.finish(
      client,
      { httpMethod: parts.httpMethod(), path: parts.path(client, request), headers: {}, body },
      request,
    )
    wire.headers = headersOf(client, wire, request)
    wire.body = parts.bodyAsSent(wire.body, client)
    const sentAtMs = Date.now()
    const answer = await parts.exchange(client, wire, request).catch((error) => ({ broken: error.message }))
    const learntSkew = parts.learnClock(client, answer, sentAtMs)
    const outcome = { ...parts.readAnswer(client, answer, id, request), learntSkew }
    if (outcome.kind === 'throttled') parts.noteThrottled(client, outcome, request)
    return outcome
  },

  /** Sends a request and reads the whole answer; a redirect is an answer like any other. Rejects when there is none. */
  exchange: (client, { httpMethod, path, headers, body, url = client.url }) =>
    new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest
      const options = { agent: client.agent, method: httpMethod, path, headers, timeout: timeoutMs }
      const sent = send(url, options, (incoming) => {
        const chunks = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode, headers: incoming.headers, text: Buffer.concat(chunks).toString() }),
        )
      })
      sent.on('timeout', () => sent.destroy(new Error(`No answer within ${timeoutMs} ms`)))
      sent.on('error', reject)
      sent.end(body)
    }),
}

function headersOf(client, wire, request) {
  const { parts } = client
  const contentType = parts.contentType()
  const authorization = parts.authorization(client, request, wire)
  return {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'content-length': Buffer.byteLength(parts.bodyAsSent(wire.body, client)),
    ...parts.furtherHeaders(client, request),
    ...wire.headers,
    ...(authorization === undefined ? {} : { authorization }),
  }
}
