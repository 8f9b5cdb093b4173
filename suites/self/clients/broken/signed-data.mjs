/** Clients that sign other data than they send: interface.md §5.1, steps 2 and 3. */
import { createHash } from 'node:crypto'

const bodyAsSent = (id, about, parts, auth = ['hmac', 'ecc']) => ({
  id,
  auth,
  check: 'signature/body-as-sent',
  about,
  parts,
})
const requestData = (id, about, parts, auth = ['hmac', 'ecc']) => ({
  id,
  auth,
  check: 'signature/method-path-newline',
  about,
  parts,
})
const sortedMembers = (text) => {
  const message = JSON.parse(text)
  return JSON.stringify(
    Object.fromEntries(
      Object.keys(message)
        .sort()
        .map((name) => [name, message[name]]),
    ),
  )
}

export const signedDataClients = [
  bodyAsSent('signs-compact-sends-spaced', 'Signs compact JSON and sends it with spaces', {
    bodyAsSent: (body) => JSON.stringify(JSON.parse(body), null, 1),
  }),
  bodyAsSent('signs-sorted-members', 'Signs JSON with sorted members, and sends it unsorted', {
    signedBody: sortedMembers,
  }),
  bodyAsSent('crlf-after-signing', 'Appends CR LF to the body after it was signed', {
    bodyAsSent: (body) => `${body}\r\n`,
  }),
  bodyAsSent('id-after-signing', 'Signs the id 0; the transport puts the real id in', {
    signedBody: (body) => JSON.stringify({ ...JSON.parse(body), id: 0 }),
  }),
  bodyAsSent('signs-params-only', 'Signs the params alone', {
    signedBody: (body) => JSON.stringify(JSON.parse(body).params),
  }),
  bodyAsSent('signs-no-body', 'Signs an empty body', { signedBody: () => '' }),
  bodyAsSent('signs-body-hash', 'Signs the SHA-256 of the body in hex in its place', {
    signedBody: (body) => createHash('sha256').update(body).digest('hex'),
  }),
  bodyAsSent('signs-escaped-sends-plain', 'Signs JSON with escaped slashes, and sends plain ones', {
    signedBody: (body) => body.replaceAll('/', '\\/'),
  }),

  requestData('signed-method-lower-case', 'Signs the HTTP method in lower case', {
    signedMethod: (method) => method.toLowerCase(),
  }),
  requestData('signed-uri-full', 'Signs the full URL in place of the URI', {
    signedUri: (client) => `${client.url.origin}${client.basePath}/api`,
  }),
  requestData('signed-uri-without-slash', 'Signs the URI api', { signedUri: () => 'api' }),
  requestData('signed-uri-trailing-slash', 'Signs the URI /api/', { signedUri: () => '/api/' }),
  requestData('signed-uri-question-mark', 'Signs the URI /api?, as for an empty query', { signedUri: () => '/api?' }),
  requestData('last-newline-missing', 'Leaves out the newline after the body', {
    requestData: ({ method, uri, body }) => `${method}\n${uri}\n${body}`,
  }),
  requestData('newlines-crlf', 'Ends the lines with CR LF', {
    requestData: ({ method, uri, body }) => `${method}\r\n${uri}\r\n${body}\r\n`,
  }),
  requestData('newlines-missing', 'Joins the parts without newlines', {
    requestData: ({ method, uri, body }) => `${method}${uri}${body}`,
  }),
  requestData('newlines-escaped', 'Writes a backslash and an n for each newline', {
    requestData: ({ method, uri, body }) => `${method}\\n${uri}\\n${body}\\n`,
  }),
  requestData('uri-before-method', 'Signs the URI before the method', {
    requestData: ({ method, uri, body }) => `${uri}\n${method}\n${body}\n`,
  }),
]
