/** Clients that send a wrong HTTP request or a wrong envelope: interface.md §1. */
import { clientOf, part } from '../core.mjs'

const auth = ['hmac', 'token']
const postJson = clientOf(auth, 'request/post-json')
const contentType = clientOf(auth, 'request/post-json', part('contentType'))
const envelope = clientOf(auth, 'request/envelope', (alter) => ({
  envelope: ({ id, method, params }) => alter({ jsonrpc: '2.0', id, method, params }),
}))
const ifEmpty = (alter) => (message) => (Object.keys(message.params).length > 0 ? message : alter(message))

export const requestClients = [
  postJson('method-put', 'Sends PUT, and signs PUT', { httpMethod: () => 'PUT' }),
  contentType('content-type-missing', 'Sends no Content-Type', () => undefined),
  contentType(
    'content-type-text',
    'Sends Content-Type: text/plain, as fetch does by default',
    () => 'text/plain;charset=UTF-8',
  ),
  contentType(
    'content-type-form',
    'Sends JSON as application/x-www-form-urlencoded, as curl does by default',
    () => 'application/x-www-form-urlencoded',
  ),
  contentType('content-type-json-rpc', 'Sends Content-Type: application/json-rpc', () => 'application/json-rpc'),
  postJson('method-in-path', 'Appends the method to the path: /api/solution/listSolutions', {
    path: (client, request) => `${client.basePath}/api/${request.method}`,
  }),
  postJson('path-of-base-url', 'Sends to the base URL itself, without /api', {
    path: (client) => `${client.basePath}/`,
  }),

  envelope('jsonrpc-missing', 'Leaves jsonrpc out', ({ jsonrpc: _, ...rest }) => rest),
  envelope('jsonrpc-number', 'Writes jsonrpc as the number 2', (message) => ({ ...message, jsonrpc: 2 })),
  envelope('jsonrpc-one', 'Writes the version 1.0', (message) => ({ ...message, jsonrpc: '1.0' })),
  envelope('id-text', 'Writes the id as a string', (message) => ({ ...message, id: `${message.id}` })),
  envelope('id-missing', 'Leaves the id out', ({ id: _, ...rest }) => rest),
  envelope('id-fraction', 'Chooses an id that is no integer', (message) => ({ ...message, id: message.id + 0.5 })),
  envelope(
    'params-missing',
    'Leaves params out where there are none',
    ifEmpty(({ params: _, ...rest }) => rest),
  ),
  envelope(
    'params-array',
    'Sends an array where there are no params',
    ifEmpty((message) => ({ ...message, params: [] })),
  ),
  envelope(
    'params-null',
    'Sends null where there are no params',
    ifEmpty((message) => ({ ...message, params: null })),
  ),
  envelope('batch-of-one', 'Sends every request as a batch of one', (message) => [message]),
]
