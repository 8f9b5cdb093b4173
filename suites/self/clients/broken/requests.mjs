/** Clients that send a wrong HTTP request or a wrong envelope: interface.md §1. */
const auth = ['hmac', 'token']

const postJson = (id, about, parts) => ({ id, auth, check: 'request/post-json', about, parts })
const envelope = (id, about, alter) => ({
  id,
  auth,
  check: 'request/envelope',
  about,
  parts: { envelope: ({ id, method, params }) => alter({ jsonrpc: '2.0', id, method, params }) },
})

export const requestClients = [
  postJson('method-put', 'Sends PUT, and signs PUT', { httpMethod: () => 'PUT' }),
  postJson('content-type-missing', 'Sends no Content-Type', { contentType: () => undefined }),
  postJson('content-type-text', 'Sends Content-Type: text/plain, as fetch does by default', {
    contentType: () => 'text/plain;charset=UTF-8',
  }),
  postJson('content-type-form', 'Sends JSON as application/x-www-form-urlencoded, as curl does by default', {
    contentType: () => 'application/x-www-form-urlencoded',
  }),
  postJson('content-type-json-rpc', 'Sends Content-Type: application/json-rpc', {
    contentType: () => 'application/json-rpc',
  }),
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
  envelope('params-missing', 'Leaves params out where there are none', ({ params, ...rest }) =>
    Object.keys(params).length > 0 ? { ...rest, params } : rest,
  ),
  envelope('params-array', 'Sends an array where there are no params', (message) =>
    Object.keys(message.params).length > 0 ? message : { ...message, params: [] },
  ),
  envelope('params-null', 'Sends null where there are no params', (message) =>
    Object.keys(message.params).length > 0 ? message : { ...message, params: null },
  ),
  envelope('batch-of-one', 'Sends every request as a batch of one', (message) => [message]),
]
