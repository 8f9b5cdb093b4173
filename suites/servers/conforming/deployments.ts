import { calls } from '../around.ts'
import { counts } from '../rows.ts'
import { answers, changeJson, html, json, ownAnswer, textAnswer, withHeaders, withoutDate } from './answers.ts'
import { errors, refusals, refuse } from './errors.ts'
import { lockLongerEachTime, ofMethod, throttle } from './limits.ts'
import { auth, by, type ConformingRows, create, list } from './rows.ts'
import { nonces } from './signatures.ts'
import {
  dropLongestUnused,
  withdrawAtForeignAddress,
  withdrawOutsideScope,
  withdrawShownRefreshToken,
} from './tokens.ts'

/** Servers as somebody might build them, each with many choices combined. */
export const deploymentsRows: ConformingRows = {
  // Errors are numbers, ids of refusals are null, batches and notifications are taken, members are in another order.
  'house-of-an-old-rpc-library': by.second(
    'errors/shape errors/id envelope/batch envelope/missing-id solutions/list-result',
    'errorId=null batch=answered notifications=no-body listShape=counted idTypes=any',
    [errors(({ code }) => code), changeJson((envelope) => Object.fromEntries(Object.entries(envelope).reverse()))],
  ),
  // No Date, a clock 40 seconds ahead, pages for refusals, 60 calls a second, connections closed.
  'house-behind-a-content-network': by.second(
    'errors/http-status errors/shape addresses/forwarded limits/rate signatures/time-window',
    'clockOffsetMs=40000 trustProxy=true callsPerSecond=60 closeConnections=true',
    [
      refuse({ body: '<h1>Denied</h1>', type: html, status: 403 }),
      withoutDate,
      withHeaders({ via: '1.1 edge', age: '0', 'x-cache': 'MISS' }),
    ],
  ),
  // Numbers as ids of keys, tokens of hex digits, text/html around all JSON, warnings in every result.
  'house-of-scripts': by.second(
    'solutions/list-result errors/shape keys/record tokens/format envelope/content-type',
    'extraResultMembers=true listShape=solutions expiryRounding=up-to-second',
    [
      withHeaders({ 'content-type': 'text/html; charset=UTF-8', 'x-powered-by': 'scripts' }),
      answers((answer) => ({ ...answer, body: `\n${answer.body}\n` })),
      (_seen, next = counts()) => ({
        keyId: () => String(41 + next()),
        tokenText: (_kind, fresh) => Buffer.from(fresh).toString('hex'),
      }),
    ],
  ),
  // Takes nearly every envelope, and refuses with XML.
  'team-with-a-loose-reader-and-xml-refusals': by.third(
    'envelope/jsonrpc-version envelope/params-type envelope/batch errors/shape',
    'strictEnvelope=false idTypes=any batch=answered',
    [refuse({ body: '<error/>', type: 'text/xml' })],
  ),
  'shop-that-validates-with-422': by.fourth(
    'errors/http-status errors/shape errors/id grants/scope-echo solutions/list-result',
    'errorId=none listShape=counted scopeEcho=sorted',
    [
      refuse({
        status: [422, 401, 403, 404],
        type: json,
        body: () => ({ detail: [{ loc: ['body', 'params'], msg: 'refused', type: 'value_error' }] }),
      }),
    ],
  ),
  // A body has at most 1 KiB and exactly what the document shows; everything else is refused.
  'kiosk-with-one-kib-and-nothing-further': by.sixth(
    'limits/request-size signatures/large-body envelope/extra-members envelope/id-types envelope/content-type grants/authorization-header',
    'maxBodyBytes=1024 extraMembers=refused idTypes=integers contentType=json-only authHeaderOnGrant=refused',
  ),
  // Part 1 shows application/json and integers as ids; part 4.2 sends grants without the header; Accept is not shown.
  // JSON must be sent and accepted (else 406), with four members and a whole id, and grants without a header.
  'post-office-that-minds-headers': by.seventh(
    'envelope/content-type envelope/id-types grants/authorization-header envelope/extra-members',
    'contentType=json-only idTypes=integers authHeaderOnGrant=refused extraMembers=refused',
    calls(({ request: { headers } }) =>
      /(\*\/\*|application\/(\*|json))/i.test(headers.accept ?? '*/*') ? undefined : ownAnswer(406, 'Only JSON here'),
    ),
  ),
  // Parts 7 and 8 show no errors, rate or bound on tokens, part 5.1 no uniqueness of nonces, part 3 no new refresh lifetime.
  // A cache of 48 pairs, errors of gRPC, refresh tokens that end with their line, a nonce once for each hash.
  'go-service-with-a-redis-store': by.tenth(
    'limits/live-tokens signatures/nonce-reuse errors/shape refresh/lifetime-renewed',
    'refreshLifetime=kept refreshLifeMs=43200000',
    dropLongestUnused(48),
    refusals((answer) => {
      const code = { 400: 3, 401: 16, 403: 7, 404: 12 }[answer.status] ?? 2
      const body = JSON.stringify({ code, message: '', details: [] })
      return textAnswer(answer, answer.status, body, { 'content-type': json, 'grpc-status': String(code) })
    }),
    nonces({ stored: ({ status }) => status !== 401 }),
  ),
  // Part 7 shows neither errors nor the outcome of rejected credentials, part 2 neither users nor names that come again.
  // Locks that double, the error page of a framework, session names that join, the longest unused leaves.
  'java-service-with-a-lockout-library': by.tenth(
    'limits/lock-out errors/shape errors/http-status sessions/reused-name sessions/age',
    'reusedSessionName=joins oldestSession=longest-unused',
    lockLongerEachTime,
    refusals((answer, call) => {
      const error = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' }[answer.status]
      const timestamp = new Date(call.nowMs).toISOString().replace('Z', '+00:00')
      const body = JSON.stringify({ timestamp, status: answer.status, error, path: '/api' })
      return textAnswer(answer, answer.status, body, { 'content-type': json })
    }),
  ),
  // Part 8 shows no rates, part 4.3 no result of a listing, part 5.3 no form of tokens; JSON allows an escaped slash.
  // Tokens with slashes, which JSON escapes, a quota for each method with 503, connections that close.
  'php-pages-behind-an-api-gateway': by.tenth(
    'limits/rate solutions/list-result tokens/format envelope/content-type',
    'closeConnections=true contentType=json-only listShape=counted',
    { tokenText: (_kind, fresh) => `${fresh.slice(0, 20)}/${fresh.slice(20)}//${fresh.slice(0, 2)}=` },
    // Slashes stand only in strings.
    answers((answer) => ({
      ...answer,
      body: answer.body.startsWith('{') ? answer.body.replaceAll('/', '\\/') : answer.body,
    })),
    withHeaders({ 'x-powered-by': 'PHP/8.2.1', via: '1.1 gateway' }),
    throttle({ calls: 4, of: ofMethod(create), status: 503 }),
    throttle({ calls: 12, of: ofMethod(auth), status: 503 }),
    throttle({ calls: 40, of: ofMethod(list), status: 503 }),
  ),
  // Part 7 does not show the outcome of a rejected token, scope or address, part 5.4 not who may ask for which address.
  // A token from a foreign address, outside its scope or in the wrong place ends, and so does a reused line.
  'bank-that-withdraws-every-misused-token': by.tenth(
    'errors/outcomes refresh/family refresh/foreign-address addresses/foreign-grant',
    'reuseRevokesFamily=true refreshChecksAddress=true',
    [withdrawAtForeignAddress, withdrawOutsideScope, withdrawShownRefreshToken, { addressChecked: () => true }],
  ),
}
