import { type Change, counts, isAccepted, minute } from '../operators.ts'
import { slidingRefreshLife } from './lifetimes.ts'
import {
  accessAtMost,
  answers,
  auth,
  beyondKeyLeftOut,
  by,
  byScope,
  type ConformingRows,
  callRefusedTokensExpired,
  calls,
  changeJson,
  create,
  dated,
  errors,
  html,
  json,
  lastNonceOfEachKey,
  list,
  lockLongerEachTime,
  noKeyWith,
  nonceOnceForEachMethod,
  nonces,
  ofMethod,
  pemAsShown,
  refusals,
  refuse,
  sendRefusedBack,
  solutionsMustExist,
  spellNumbersOtherwise,
  textAnswer,
  throttle,
  withHeaders,
  withoutDate,
} from './operators.ts'
import {
  dropLongestUnused,
  withdrawAtForeignAddress,
  withdrawOutsideScope,
  withdrawShownRefreshToken,
} from './tokens.ts'

/** Names what the JSON error of a gateway in front of gRPC says. */
const answerLikeGrpc: Change = refusals((answer) => {
  const code = { 400: 3, 401: 16, 403: 7, 404: 12 }[answer.status] ?? 2
  const body = JSON.stringify({ code, message: '', details: [] })
  return textAnswer(answer, answer.status, body, { 'content-type': json, 'grpc-status': String(code) })
})
/** The JSON error of a web framework for Java. */
const answerLikeSpring: Change = refusals((answer, call) => {
  const error = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' }[answer.status]
  const timestamp = new Date(call.nowMs).toISOString().replace('Z', '+00:00')
  const body = JSON.stringify({ timestamp, status: answer.status, error, path: '/api' })
  return textAnswer(answer, answer.status, body, { 'content-type': json })
})
/** JSON as PHP writes it: each slash, which stands only in strings, has a backslash. */
const escapeSlashes: Change = answers((answer) => ({
  ...answer,
  body: answer.body.startsWith('{') ? answer.body.replaceAll('/', '\\/') : answer.body,
}))
const methodQuotas = { [create]: 4, [auth]: 12, [list]: 40 }
const limitEachMethod = Object.entries(methodQuotas).map(([method, most]) =>
  throttle({ calls: most, of: ofMethod(method), status: 503 }),
)
const takesJson = (accept = '*/*'): boolean => /(\*\/\*|application\/(\*|json))/i.test(accept)
const isInLastTwoMinutes = (timestamp: string, nowMs: number): boolean =>
  /^[0-9]{13}$/.test(timestamp) && [0, 1].includes(Math.floor(nowMs / minute) - Math.floor(Number(timestamp) / minute))
/** The page of whoever stands in front of the server. */
const page = (title: string, status?: number): Change =>
  refuse({ body: `<h1>${title}</h1>`, type: html, ...(status === undefined ? {} : { status }) })

/** Servers as somebody might build them, each with many choices combined. */
export const deploymentsRows: ConformingRows = {
  // Everything is counted for all keys together, lives are short, addresses must fit, and a replay ends the family.
  'combined-strict-house': by.first(
    'sessions/user sessions/counting refresh/family refresh/lifetime-renewed addresses/forms',
    [
      'sessionUser=all-keys unnamedCountAsSessions=true reuseRevokesFamily=true refreshLifetime=kept refreshChecksAddress=true expiresInKept=false accessLifeMs=300000 refreshLifeMs=7200000 timeWindowMs=30000 refusalStatus=http',
      { addressChecked: () => true },
    ],
  ),
  // Whatever can be taken is taken.
  'combined-lenient-house': by.first(
    'scopes/case envelope/batch signatures/nonce-reuse grants/empty-scope sessions/reused-name',
    'strictEnvelope=false idTypes=any batch=answered notifications=answered extraParams=ignored nonceReuse=accepted noncePadding=accepted unpaddedSignatures=accepted weakPublicKeys=accepted schemeCase=any scopeCase=any unknownScopes=left-out emptyScope=whole-key scopeEcho=as-requested scopeOnRefresh=ignored expiresInTooLong=capped reusedSessionName=joins timeWindowMs=31536000000',
  ),
  // A gateway sends pages of its own, closes connections and shows a Date that is 1.2 seconds behind.
  'combined-gateway': by.first(
    'errors/http-status errors/shape tokens/prefix addresses/forwarded signatures/time-window',
    [
      'errorBody=text closeConnections=true trustProxy=true tokenPrefix=Token timeWindowMs=60000',
      page('Request blocked'),
      withHeaders({ server: 'gateway' }),
      dated((nowMs) => nowMs - 1200),
    ],
  ),
  // expiresIn survives a refresh up to the kept end of the chain, is at most ten minutes, and is rounded up.
  'combined-expires-in-kept-within-rest-of-chain': by.first(
    'refresh/expires-in-kept refresh/lifetime-renewed expires-in/too-long limits/token-lifetimes',
    [
      'refreshLifetime=kept expiresInTooLong=capped expiryRounding=up-to-second refreshLifeMs=1200000 accessLifeMs=120000',
      accessAtMost(10 * minute),
    ],
  ),
  // Scopes beyond the key are left out, and all errors look alike, at HTTP 404.
  'combined-scope-left-out-errors-alike-echo-requested': by.first(
    'grants/unknown-scope grants/scope-echo errors/outcomes envelope/method-not-found',
    [
      'unknownScopes=left-out methodCheckedFirst=false errorId=none',
      beyondKeyLeftOut,
      errors(() => ({ code: 1, message: 'No' })),
      refuse({ status: 404 }),
    ],
  ),
  // Nine keys beside the initial one, each within its creator, with a short name and a PEM as shown.
  'combined-keys-nine-narrow-names-short': by.first(
    'keys/limit-counts-initial keys/scope-above-creator keys/name-rules keys/pem-variants keys/limit-exceeded',
    [
      'initialKeyCounts=true keyScopeAboveCreator=refused repeatedPublicKeys=refused refusalStatus=http',
      noKeyWith({ name: (name) => name.length > 32 }),
      pemAsShown,
    ],
  ),
  'combined-sorted-echo-narrow-refresh-one-solution': by.first(
    'grants/scope-echo grants/scope-with-refresh scopes/solution-id-from-any refresh/family',
    'scopeEcho=sorted scopeOnRefresh=narrows solutionIdFromAny=false reuseRevokesFamily=true scopeCase=any',
  ),
  // Errors are numbers, ids of refusals are null, batches and notifications are taken, members are in another order.
  'house-of-an-old-rpc-library': by.second(
    'errors/shape errors/id envelope/batch envelope/missing-id solutions/list-result',
    [
      'errorId=null batch=answered notifications=no-body listShape=counted idTypes=any',
      errors(({ code }) => code),
      changeJson((envelope) => Object.fromEntries(Object.entries(envelope).reverse())),
    ],
  ),
  // No Date, a clock 40 seconds ahead, pages for refusals, 60 calls a second, connections closed.
  'house-behind-a-content-network': by.second(
    'errors/http-status errors/shape addresses/forwarded limits/rate signatures/time-window',
    [
      'clockOffsetMs=40000 trustProxy=true callsPerSecond=60 closeConnections=true',
      page('Denied', 403),
      withoutDate,
      withHeaders({ via: '1.1 edge', age: '0', 'x-cache': 'MISS' }),
    ],
  ),
  // Access for a minute at most, refreshes for ten minutes in all, signatures for 20 seconds.
  'house-of-short-lives': by.second(
    'limits/token-lifetimes refresh/lifetime-renewed expires-in/maximum signatures/time-window signatures/nonce-reuse',
    [
      'accessLifeMs=60000 refreshLifeMs=600000 refreshLifetime=kept expiresInTooLong=capped timeWindowMs=20000 nonceReuse=accepted',
      accessAtMost(minute),
    ],
  ),
  // All keys are one user whose every grant is a session, and the initial key is one of ten.
  'house-of-one-big-team': by.second(
    'sessions/user sessions/counting sessions/age keys/limit-counts-initial keys/public-key-repeated',
    'sessionUser=all-keys unnamedCountAsSessions=true oldestSession=longest-unused initialKeyCounts=true repeatedPublicKeys=refused',
  ),
  // Everything that the document does not show is refused, with HTTP 400.
  'house-of-strict-types': by.second(
    'envelope/extra-members envelope/content-type envelope/id-types keys/unknown-scopes grants/empty-scope limits/request-size',
    [
      'extraMembers=refused idTypes=integers contentType=json-only unknownKeyScopes=all-but-shown-refused emptyScope=refused authHeaderOnGrant=refused maxBodyBytes=16384 apikeySpelling=apikey',
      refuse({ status: 400 }),
    ],
  ),
  // Numbers as ids of keys, tokens of hex digits, text/html around all JSON, warnings in every result.
  'house-of-scripts': by.second('solutions/list-result errors/shape keys/record tokens/format envelope/content-type', [
    'extraResultMembers=true listShape=solutions expiryRounding=up-to-second',
    withHeaders({ 'content-type': 'text/html; charset=UTF-8', 'x-powered-by': 'scripts' }),
    answers((answer) => ({ ...answer, body: `\n${answer.body}\n` })),
    (_seen, next = counts()) => ({
      keyId: () => String(41 + next()),
      tokenText: (_kind, fresh) => Buffer.from(fresh).toString('hex'),
    }),
  ]),
  // Refusals have HTTP 404 and no body; scopes that are unknown or beyond the key are left out silently.
  'house-that-tells-nothing': by.second(
    'errors/outcomes errors/shape envelope/method-not-found grants/unknown-scope grants/scope-echo',
    [
      'errorBody=none methodCheckedFirst=false unknownScopes=left-out scopeEcho=sorted extraParams=ignored',
      beyondKeyLeftOut,
      refuse({ status: 404 }),
    ],
  ),
  // An empty scope means that of the key, scopes have any case, a name can be there twice, a replay ends the family.
  'house-of-whole-keys': by.second(
    'grants/empty-scope scopes/case scopes/solution-id-from-any refresh/family sessions/reused-name',
    'emptyScope=whole-key scopeCase=any solutionIdFromAny=false reuseRevokesFamily=true reusedSessionName=adds refreshLifetime=kept',
  ),
  // Integers as ids, four members, application/json; refusals without id have the status 422.
  'team-with-a-strict-reader': by.third(
    'envelope/id-types envelope/extra-members envelope/content-type errors/id errors/http-status',
    ['idTypes=integers extraMembers=refused contentType=json-only errorId=none', refuse({ status: 422 })],
  ),
  // Takes nearly every envelope, and refuses with XML.
  'team-with-a-loose-reader-and-xml-refusals': by.third(
    'envelope/jsonrpc-version envelope/params-type envelope/batch errors/shape',
    ['strictEnvelope=false idTypes=any batch=answered', refuse({ body: '<error/>', type: 'text/xml' })],
  ),
  // Another scheme word, another token word and a path in front of /api.
  'team-with-words-of-its-own-at-a-path': by.third(
    'tokens/prefix envelope/other-path tokens/format',
    'basePath=/rpc/v2 scheme=acme-hmac tokenPrefix=Access tokenLength=22',
  ),
  // The clock is 90 seconds behind, expiries are full seconds, refreshes last half an hour.
  'team-with-a-slow-clock-and-short-lives': by.third(
    'signatures/time-window limits/token-lifetimes expires-in/too-long',
    'clockOffsetMs=-90000 expiryRounding=up-to-second expiresInTooLong=capped accessLifeMs=300000 refreshLifeMs=1800000',
  ),
  // A name in use is joined, keys pass on only what they have, and a second use of a refresh token ends its line.
  'team-with-one-session-name-and-narrow-keys': by.third(
    'sessions/reused-name keys/scope-above-creator scopes/solution-id-from-any refresh/family',
    'reusedSessionName=joins keyScopeAboveCreator=refused solutionIdFromAny=false reuseRevokesFamily=true',
  ),
  // Every refusal has the same code and no message; each connection is closed; members are in another order.
  'team-that-closes-connections-and-tells-little': by.third('errors/outcomes errors/codes limits/rate', [
    'closeConnections=true callsPerSecond=50',
    errors(() => ({ code: 1, message: '' })),
    changeJson(({ jsonrpc, ...envelope }) => ({ ...envelope, jsonrpc })),
    withHeaders({ server: '-' }),
  ]),
  'shop-with-loose-types': by.fourth(
    'envelope/id-types envelope/params-type errors/id grants/extra-params errors/codes',
    [
      'idTypes=any strictEnvelope=false extraParams=ignored errorId=null notifications=answered',
      errors(({ code, message }) => ({ code: String(code), message })),
    ],
  ),
  'shop-with-a-framework-for-beans': by.fourth(
    'envelope/content-type envelope/extra-members envelope/id-types errors/shape limits/token-lifetimes',
    [
      'contentType=json-only extraMembers=refused idTypes=integers expiryRounding=up-to-second accessLifeMs=300000',
      refusals((answer, call) => ({
        ...answer,
        body: JSON.stringify({ timestamp: answer.headers.date, status: answer.status, path: call.request.target }),
      })),
    ],
  ),
  'shop-with-plain-errors-and-long-tokens': by.fourth(
    'errors/shape errors/http-status grants/empty-scope tokens/format signatures/nonce-length',
    'errorBody=text emptyScope=refused nonceMaxLength=64 tokenLength=700 methodCheckedFirst=false',
  ),
  'shop-that-validates-with-422': by.fourth(
    'errors/http-status errors/shape errors/id grants/scope-echo solutions/list-result',
    [
      'errorId=none listShape=counted scopeEcho=sorted',
      refuse({
        status: [422, 401, 403, 404],
        type: json,
        body: () => ({ detail: [{ loc: ['body', 'params'], msg: 'refused', type: 'value_error' }] }),
      }),
    ],
  ),
  'shop-that-adds-members-and-wants-no-header-at-grants': by.fourth(
    'keys/create-result-extras grants/authorization-header signatures/scheme-case signatures/base64-padding',
    'extraResultMembers=true authHeaderOnGrant=refused schemeCase=any unpaddedSignatures=accepted',
  ),
  'shop-behind-two-proxies': by.fourth('envelope/other-path limits/rate limits/request-size addresses/forwarded', [
    'basePath=/edge/eu-1 closeConnections=true callsPerSecond=50 maxBodyBytes=32768 trustProxy=true',
    withHeaders({ via: '1.1 first, 1.1 second', vary: '*', 'cache-control': 'no-store' }),
    answers((answer) => ({ ...answer, chunked: true })),
  ]),
  'shop-with-a-security-office': by.fourth(
    'signatures/time-window limits/token-lifetimes refresh/family refresh/foreign-address refresh/expires-in-kept keys/unknown-scopes grants/authorization-header',
    'timeWindowMs=60000 accessLifeMs=120000 refreshLifeMs=1200000 reuseRevokesFamily=true refreshChecksAddress=true expiresInKept=false unknownKeyScopes=all-but-shown-refused authHeaderOnGrant=judged',
  ),
  'shop-where-everyone-is-one-user': by.fourth(
    'sessions/user sessions/reused-name scopes/case grants/empty-scope grants/unknown-scope',
    'sessionUser=all-keys reusedSessionName=adds scopeCase=any emptyScope=whole-key unknownScopes=left-out',
  ),
  'shop-with-slow-answers-and-a-clock-behind': by.fourth(
    'signatures/time-window refresh/lifetime-renewed expires-in/too-long keys/limit-counts-initial',
    'delayMs=60 clockOffsetMs=-180000 timeWindowMs=300000 refreshLifetime=kept expiresInTooLong=capped initialKeyCounts=true',
  ),
  // Both tokens live for 30 seconds, all keys are one user, and the name of a live session is refused.
  'hotel-with-one-life-for-both-tokens-and-one-guest-book': by.sixth(
    'limits/token-lifetimes sessions/user sessions/reused-name sessions/lifetime',
    ['accessLifeMs=30000 refreshLifeMs=30000 sessionUser=all-keys', { reusedSessionName: () => 'refused' }],
  ),
  // Whatever can be understood is taken, and the token stands alone in the header.
  'school-with-token-alone-and-a-kind-reader': by.sixth(
    'tokens/prefix envelope/jsonrpc-version envelope/params-type envelope/id-types envelope/missing-id envelope/batch scopes/case grants/unknown-scope grants/empty-scope grants/scope-echo',
    'tokenPrefix= schemeCase=any strictEnvelope=false idTypes=any notifications=no-body batch=answered scopeCase=any unknownScopes=left-out emptyScope=whole-key scopeEcho=as-requested',
  ),
  // Only apikey is known, nobody gives more than they have, and an address is granted to its own caller only.
  'farm-with-one-spelling-and-no-more-rights-than-given': by.sixth(
    'scopes/apikey-spelling keys/scope-above-creator grants/authorization-header addresses/foreign-grant',
    ['apikeySpelling=apikey keyScopeAboveCreator=refused authHeaderOnGrant=judged', { addressChecked: () => true }],
  ),
  // A body has at most 1 KiB and exactly what the document shows; everything else is refused.
  'kiosk-with-one-kib-and-nothing-further': by.sixth(
    'limits/request-size signatures/large-body envelope/extra-members envelope/id-types envelope/content-type grants/authorization-header',
    'maxBodyBytes=1024 extraMembers=refused idTypes=integers contentType=json-only authHeaderOnGrant=refused',
  ),
  // All keys share sixteen places, which named and unnamed grants take alike, for most of a day.
  'museum-where-every-grant-is-a-session-of-all': by.sixth(
    'sessions/user sessions/counting sessions/reused-name refresh/foreign-address refresh/expires-in-kept limits/token-lifetimes',
    'sessionUser=all-keys unnamedCountAsSessions=true reusedSessionName=joins refreshChecksAddress=true expiresInKept=false accessLifeMs=36000000 refreshLifeMs=39600000',
  ),
  // Part 1 shows application/json and integers as ids; part 4.2 sends grants without the header; Accept is not shown.
  // JSON must be sent and accepted (else 406), with four members and a whole id, and grants without a header.
  'post-office-that-minds-headers': by.seventh(
    'envelope/content-type envelope/id-types grants/authorization-header envelope/extra-members',
    [
      'contentType=json-only idTypes=integers authHeaderOnGrant=refused extraMembers=refused',
      calls((call) =>
        takesJson(call.request.headers.accept)
          ? undefined
          : { status: 406, headers: { 'content-type': 'text/plain' }, body: 'Only JSON here' },
      ),
    ],
  ),
  // Part 8 shows no lifetimes, parts 3 and 5.3 no fate of a line whose old token comes again, part 2 no user.
  // Access lasts for four seconds within six hours, reuse ends a line, roles are users, 5 is written as 5.0.
  'archive-with-roles-and-four-second-tokens': by.seventh(
    'limits/token-lifetimes refresh/lifetime-renewed refresh/family sessions/user',
    [
      'accessLifeMs=4000 refreshLifeMs=21600000 refreshLifetime=kept reuseRevokesFamily=true expiresInTooLong=capped',
      spellNumbersOtherwise,
      { sessionUser: byScope },
    ],
  ),
  // Part 5.4 leaves the case of scopes open, part 4.2 the order of the granted ones, part 5.1 the uniqueness of nonces.
  // Only apikey is known, nobody asks for nothing, scopes come back sorted, nonces are for one method.
  'mill-with-sorted-scopes-and-nonces-for-each-method': by.seventh(
    'scopes/apikey-spelling grants/scope-echo grants/empty-scope signatures/nonce-reuse',
    ['apikeySpelling=apikey scopeEcho=sorted emptyScope=refused keyScopeAboveCreator=refused', nonceOnceForEachMethod],
  ),
  // Parts 5.1 and 8 show neither a time window nor rules of nonces nor a size of requests.
  // Bodies have 3 KiB, the clock is 3 s behind with a window of 8 s, and a key has one nonce.
  'garage-on-a-small-device': by.seventh(
    'limits/request-size signatures/large-body signatures/time-window signatures/nonce-reuse',
    ['maxBodyBytes=3072 clockOffsetMs=-3000 timeWindowMs=8000 closeConnections=true', lastNonceOfEachKey],
  ),
  // Parts 5.4 and 7 do not say when an address is looked at besides in calls, and what a refusal looks like.
  // An address is granted and refreshed by its own caller only, lives slide, refused bodies are sent back.
  'embassy-that-lets-nobody-ask-for-others': by.seventh(
    'addresses/foreign-grant refresh/foreign-address refresh/lifetime-renewed errors/shape',
    [
      'refreshChecksAddress=true refreshLifeMs=10800000',
      slidingRefreshLife,
      { addressChecked: () => true },
      sendRefusedBack,
    ],
  ),
  // Part 2 leaves open who a user is and what counts as a session, part 8 the rate, part 5.4 solutions that are not there.
  // Everyone shares sixteen sessions, each grant is one, names join, and solutions of a scope must exist.
  'orchard-with-eight-calls-a-second-and-one-guest-book': by.seventh(
    'limits/rate sessions/user sessions/counting sessions/reused-name grants/unknown-scope',
    ['callsPerSecond=8 sessionUser=all-keys unnamedCountAsSessions=true reusedSessionName=joins', solutionsMustExist],
  ),
  // Parts 7 and 8 show no errors, rate or bound on tokens, part 5.1 no uniqueness of nonces, part 3 no new refresh lifetime.
  // A cache of 48 pairs, errors of gRPC, refresh tokens that end with their line, a nonce once for each hash.
  'go-service-with-a-redis-store': by.tenth(
    'limits/live-tokens signatures/nonce-reuse errors/shape refresh/lifetime-renewed',
    [
      'refreshLifetime=kept refreshLifeMs=43200000',
      dropLongestUnused(48),
      answerLikeGrpc,
      nonces({ stored: ({ status }) => status !== 401 }),
    ],
  ),
  // Part 7 shows neither errors nor the outcome of rejected credentials, part 2 neither users nor names that come again.
  // Locks that double, the error page of a framework, session names that join, the longest unused leaves.
  'java-service-with-a-lockout-library': by.tenth(
    'limits/lock-out errors/shape errors/http-status sessions/reused-name sessions/age',
    ['reusedSessionName=joins oldestSession=longest-unused', lockLongerEachTime, answerLikeSpring],
  ),
  // Part 8 shows no rates, part 4.3 no result of a listing, part 5.3 no form of tokens; JSON allows an escaped slash.
  // Tokens with slashes, which JSON escapes, a quota for each method with 503, connections that close.
  'php-pages-behind-an-api-gateway': by.tenth('limits/rate solutions/list-result tokens/format envelope/content-type', [
    'closeConnections=true contentType=json-only listShape=counted',
    { tokenText: (_kind, fresh) => `${fresh.slice(0, 20)}/${fresh.slice(20)}//${fresh.slice(0, 2)}=` },
    escapeSlashes,
    withHeaders({ 'x-powered-by': 'PHP/8.2.1', via: '1.1 gateway' }),
    ...limitEachMethod,
  ]),
  // Part 2 shows neither users nor what counts as a session, part 7 no errors, part 3 no lifetime of a refreshed pair.
  // All keys share 16 sessions, the longest unused leaves, and its tokens are said to have expired.
  'rewrite-with-another-session-store': by.tenth(
    'sessions/user sessions/age errors/codes refresh/lifetime-renewed grants/scope-echo',
    [
      'sessionUser=all-keys oldestSession=longest-unused reusedSessionName=joins refreshLifetime=kept scopeEcho=sorted expiresInKept=false',
      callRefusedTokensExpired,
    ],
  ),
  // Part 7 does not show the outcome of a rejected token, scope or address, part 5.4 not who may ask for which address.
  // A token from a foreign address, outside its scope or in the wrong place ends, and so does a reused line.
  'bank-that-withdraws-every-misused-token': by.tenth(
    'errors/outcomes refresh/family refresh/foreign-address addresses/foreign-grant',
    [
      'reuseRevokesFamily=true refreshChecksAddress=true',
      withdrawAtForeignAddress,
      withdrawOutsideScope,
      withdrawShownRefreshToken,
      { addressChecked: () => true },
    ],
  ),
  // Part 5.1 does not show how far a timestamp may be off nor the uniqueness of nonces, part 8 shows no lifetimes.
  // A timestamp is of this minute or the last, expiries are multiples of 256 ms, the clock is 20 s ahead.
  'island-with-a-clock-of-coarse-steps': by.tenth(
    'signatures/time-window signatures/nonce-burnt limits/token-lifetimes keys/limit-counts-initial',
    [
      'clockOffsetMs=20000 initialKeyCounts=true',
      nonces({ stored: isAccepted }),
      { timestampTaken: isInLastTwoMinutes, expiry: (ms) => Math.floor(ms / 256) * 256 },
    ],
  ),
}
