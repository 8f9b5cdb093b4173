/** Clients that sign other data than they send: interface.md §5.1, steps 2 and 3. */
import { createHash } from 'node:crypto'
import { clientOf, part } from '../core.mjs'

const auth = ['hmac', 'ecc']
const signsBody = clientOf(auth, 'signature/body-as-sent', part('signedBody'))
const sendsBody = clientOf(auth, 'signature/body-as-sent', part('bodyAsSent'))
const signsMethod = clientOf(auth, 'signature/method-path-newline', part('signedMethod'))
const signsUri = clientOf(auth, 'signature/method-path-newline', part('signedUri'))
const joins = clientOf(auth, 'signature/method-path-newline', (join) => ({
  requestData: ({ method, uri, body }) => join([method, uri, body]),
}))
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
  sendsBody('signs-compact-sends-spaced', 'Signs compact JSON and sends it with spaces', (body) =>
    JSON.stringify(JSON.parse(body), null, 1),
  ),
  signsBody('signs-sorted-members', 'Signs JSON with sorted members, and sends it unsorted', sortedMembers),
  sendsBody('crlf-after-signing', 'Appends CR LF to the body after it was signed', (body) => `${body}\r\n`),
  signsBody('id-after-signing', 'Signs the id 0; the transport puts the real id in', (body) =>
    JSON.stringify({ ...JSON.parse(body), id: 0 }),
  ),
  signsBody('signs-params-only', 'Signs the params alone', (body) => JSON.stringify(JSON.parse(body).params)),
  signsBody('signs-no-body', 'Signs an empty body', () => ''),
  signsBody('signs-body-hash', 'Signs the SHA-256 of the body in hex in its place', (body) =>
    createHash('sha256').update(body).digest('hex'),
  ),
  signsBody('signs-escaped-sends-plain', 'Signs JSON with escaped slashes, and sends plain ones', (body) =>
    body.replaceAll('/', '\\/'),
  ),

  signsMethod('signed-method-lower-case', 'Signs the HTTP method in lower case', (method) => method.toLowerCase()),
  signsUri(
    'signed-uri-full',
    'Signs the full URL in place of the URI',
    (client) => `${client.url.origin}${client.basePath}/api`,
  ),
  signsUri('signed-uri-without-slash', 'Signs the URI api', () => 'api'),
  signsUri('signed-uri-trailing-slash', 'Signs the URI /api/', () => '/api/'),
  signsUri('signed-uri-question-mark', 'Signs the URI /api?, as for an empty query', () => '/api?'),
  joins('last-newline-missing', 'Leaves out the newline after the body', (parts) => parts.join('\n')),
  joins('newlines-crlf', 'Ends the lines with CR LF', (parts) => [...parts, ''].join('\r\n')),
  joins('newlines-missing', 'Joins the parts without newlines', (parts) => parts.join('')),
  joins('newlines-escaped', 'Writes a backslash and an n for each newline', (parts) => [...parts, ''].join('\\n')),
  joins('uri-before-method', 'Signs the URI before the method', ([method, uri, body]) =>
    [uri, method, body, ''].join('\n'),
  ),
]
