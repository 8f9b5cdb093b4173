import { identify } from '../../../mock-server/caller.ts'
import { rules as reference } from '../../../mock-server/rules.ts'
import { before, calls } from '../around.ts'
import { type Call, isAccepted, readMembers } from '../call.ts'
import type { Change } from '../rows.ts'
import { counts } from '../rows.ts'
import { answers, changeJson, html, httpDate, ownAnswer, textAnswer, withHeaders } from './answers.ts'
import { errorAnswer, errorCode, refusals } from './errors.ts'
import { auth, by, type ConformingRows, create, list } from './rows.ts'

interface Listing {
  list: { id: string; name: string }[]
}

/** Another result of solution/listSolutions. */
const listing = (shape: (result: Listing) => object): Change => ({
  resultMember: (method, result) => (method === list ? shape(result as Listing) : result),
})

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).reverse()
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]))
}

const unicode = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
/** The same JSON with more escapes. */
const escaped = (text: string): string =>
  text
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\uffff]/g, unicode)
    .replace(
      /"(jsonrpc|id|result|error|accessToken|secret)":/g,
      (_, name: string) => `"${unicode(name)}${name.slice(1)}":`,
    )
/** Changes the text of every JSON object that is sent. */
const bodies = (change: (body: string) => string): Change =>
  answers((answer) => (answer.body.startsWith('{') ? { ...answer, body: change(answer.body) } : answer))

/** Refuses the requests that `isRefused` names, before the server sees them. */
const refuseFirst = (status: number, body: string, isRefused: (call: Call) => boolean): Change =>
  calls((call) => (isRefused(call) ? ownAnswer(status, body) : undefined))

/** Adds members to the JSON of every listing, in front of those that are there. */
const listingText = (members: string): Change =>
  answers((answer, call) =>
    isAccepted(answer) && call.lists
      ? { ...answer, body: answer.body.replace('"result":{', `"result":{${members},`) }
      : answer,
  )

/** Throws if an object of a JSON text has two members of one name. */
function refuseRepeatedMembers(text: string): void {
  const open: Set<string>[] = []
  for (const [token, member] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (member !== undefined) {
      const name = JSON.parse(member) as string
      if (open.at(-1)?.has(name)) throw new SyntaxError(`Send ${name} once`)
      open.at(-1)?.add(name)
    }
  }
}

const byteOrderMark = Buffer.from('efbbbf', 'hex')

const memberNames = 'jsonrpc id method params grantType apiKeyId apiKeySecret scope refreshToken name publicKey'.split(
  ' ',
)

/** The same JSON with the names of the interface in their right letter case. */
function foldMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const spelled = (name: string) => memberNames.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [spelled(name), foldMembers(member)]))
}

/** Members that scripting languages give a meaning. */
const reserved = '{"__proto__":{"result":1},"constructor":null,"then":"later","length":-1,"":"","toString":[]}'

/** Members that only their letter case sets apart from those of the results. */
const addDecoys = <R extends object>(result: R): object => ({
  ...{ accesstoken: 'none', RefreshToken: null, ID: 0 },
  ...result,
  ...{ ACCESSTOKENEXPIRY: 1, Secret: '', Scope: ['all'], token_type: 'mac' },
})

/** Parts 1, 4.1 and 4.3: requests, HTTP and JSON, and what results look like. */
export const envelopeRows: ConformingRows = {
  'connections-closed': by.own('closeConnections=true'),
  'base-url-with-a-path': by.own('envelope/other-path basePath=/service/v1'),
  'bodies-up-to-16-kib': by.own('limits/request-size signatures/large-body maxBodyBytes=16384'),
  'lenient-envelope': by.own(
    'envelope/jsonrpc-version envelope/params-type envelope/id-types envelope/missing-id envelope/batch',
    'strictEnvelope=false idTypes=any notifications=answered batch=answered',
  ),
  'integer-ids-only': by.own('envelope/id-types envelope/missing-id idTypes=integers notifications=no-body'),
  'json-type-only': by.own('envelope/content-type contentType=json-only'),
  'further-members-refused': by.own('envelope/extra-members extraMembers=refused'),
  'authorization-before-the-method': by.own('envelope/method-not-found methodCheckedFirst=false'),
  'further-members-in-results': by.own('keys/create-result-extras extraResultMembers=true'),
  'solutions-member': by.own('solutions/list-result listShape=solutions'),
  'counted-listing': by.own('solutions/list-result listShape=counted'),
  // The listing shows nothing to anybody: an empty object.
  'list-empty-object': by.first('solutions/list-result', [listing(() => ({}))]),
  // The listing has members named error, code, message and result.
  'list-with-error-word': by.first('solutions/list-result solutions/records', [
    listing(({ list }) => ({ result: list, error: null, code: 401, message: 'Unauthorized', jsonrpc: '1.0', id: -1 })),
  ]),
  // GET and HEAD get a page with status 200, on any path.
  'http-other-methods-show-a-page': by.first('envelope/http-method envelope/other-path', [
    answers((answer, call) =>
      ['GET', 'HEAD'].includes(call.request.method)
        ? textAnswer(answer, 200, '<!doctype html><title>Service</title>', { 'content-type': html })
        : answer,
    ),
  ]),
  // A slash at the end and a query are left out of the path; the signed URI stays /api.
  'http-slash-and-query-taken': by.first('envelope/other-path signatures/query', {
    isCall: (httpMethod, path, callPath) =>
      httpMethod === 'POST' && path.replace(/\?.*$/s, '').replace(/\/$/, '') === callPath,
  }),
  // Answers have repeated headers, cookies and a content type with parameters in an unusual form.
  'http-repeated-headers-cookies': by.first('errors/shape envelope/content-type', [
    withHeaders(({ body }) => ({
      'set-cookie': ['visit=1; Path=/; HttpOnly', 'lang=en'],
      'x-served-by': ['edge-1', 'origin-2'],
      vary: 'Origin, Authorization',
      ...(body.startsWith('{') ? { 'content-type': 'Application/JSON ;charset="UTF-8"' } : {}),
    })),
  ]),
  // Every answer tells of a rate limit, with nothing left, and of Retry-After, though nothing is limited.
  'http-rate-headers-on-success': by.first('limits/rate', [
    withHeaders({ 'x-ratelimit-remaining': '0', 'retry-after': '1' }),
  ]),
  // JSON is written over several lines with the last member first, and ends with a line feed.
  'json-spread-over-lines-in-reverse': by.first('envelope/encoding solutions/list-result', [
    bodies((body) => `\r\n\t${JSON.stringify(reversed(JSON.parse(body)), null, 4)}\n\n`),
  ]),
  // JSON is written in ASCII, with escaped slashes and with escapes in the member names.
  'json-escaped': by.first('envelope/encoding errors/shape', [bodies(escaped)]),
  // A listing has 3,000 solutions with names in several scripts.
  'json-large-answers': by.first('solutions/list-result solutions/records', [
    listing((result) => ({
      list: [
        ...result.list,
        ...Array.from({ length: 3000 }, (_, at) => ({ id: `s${at}`, name: `Lösung 解 ${at} 🧩` })),
      ],
    })),
  ]),
  // Another type, a charset and a missing header get 415.
  'content-type-exactly-application-json': by.second('envelope/content-type', {
    contentTypeTaken: (type) => type?.toLowerCase() === 'application/json',
  }),
  // Wrong paths and HTTP methods get 204, refusals HTTP 400, all without a body.
  'wrong-paths-get-204-and-refusals-no-body': by.second(
    'envelope/http-method envelope/other-path errors/shape errors/http-status',
    [refusals((answer) => textAnswer(answer, answer.body === 'Not found' ? 204 : 400, ''))],
  ),
  // Beside the members of the document there are the time taken and the name of the node.
  'further-members-in-every-answer': by.third('keys/create-result-extras errors/shape extraResultMembers=true', [
    changeJson((envelope) => ({ tookMs: 1, ...envelope, node: 'a-1', meta: null })),
  ]),
  'header-names-in-capitals-and-bodies-in-chunks': by.fourth('errors/http-status refusalStatus=http', [
    answers((answer) => ({
      ...answer,
      chunked: true,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [
          name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
          value,
        ]),
      ),
    })),
  ]),
  'repeated-and-unknown-members-refused': by.fifth(
    'envelope/duplicate-members envelope/extra-members extraMembers=refused',
    [
      {
        parseBody: (text) => {
          refuseRepeatedMembers(text)
          return reference.parseBody(text)
        },
      },
    ],
  ),
  'query-taken-and-signed-as-part-of-uri': by.fifth('signatures/query envelope/other-path', {
    isCall: (httpMethod, path, callPath) => httpMethod === 'POST' && path.split('?')[0] === callPath,
    dataToSign: (parts) =>
      reference.dataToSign({ ...parts, uri: parts.uri + (/\?.*$/s.exec(parts.target)?.[0] ?? '') }),
  }),
  // A signature covers it, because it is sent.
  'byte-order-mark-skipped': by.fifth(
    'envelope/encoding',
    (_seen, sent: { body: Buffer } = { body: Buffer.alloc(0) }) => ({
      around: before((call) => {
        sent.body = call.request.body
        return sent.body.subarray(0, 3).equals(byteOrderMark) ? call.withBody(sent.body.subarray(3)) : undefined
      }),
      dataToSign: (parts) => reference.dataToSign({ ...parts, body: sent.body }),
    }),
  ),
  // A listing tells when and by whom it was asked for, and how often, and its order turns.
  'listing-differs-in-every-call': by.sixth('solutions/list-result solutions/records', (seen, next = counts()) =>
    listing((result) => {
      const asked = next()
      return {
        asked,
        at: seen.nowMs,
        by: seen.pair?.key.id ?? null,
        list: asked % 2 === 0 ? result.list : [...result.list].reverse(),
      }
    }),
  ),
  // A listing has names such as __proto__ and then, numbers of thirty digits, and lists 200 deep.
  'listing-with-members-that-scripts-reserve': by.sixth('solutions/list-result solutions/records', [
    listingText(`"reserved":${reserved},"serial":${'9'.repeat(30)},"deep":${'['.repeat(200)}${']'.repeat(200)}`),
  ]),
  // A small server keeps connections busy with blanks before its JSON, and sends no header of its own.
  'answers-begin-with-blanks-and-have-no-headers': by.sixth('envelope/content-type solutions/list-result', [
    answers(({ status, body }) => ({
      status,
      headers: {},
      body: body.startsWith('{') ? `${' \n'.repeat(2048)}${body}` : body,
    })),
  ]),
  // A firewall cuts the connection for a body above 4 KiB or an Authorization header above 1 KiB.
  'large-bodies-and-long-headers-get-no-answer': by.sixth(
    'limits/request-size signatures/large-body signatures/nonce-length',
    [
      calls(({ request: { body }, authorization = '' }) =>
        body.length > 4096 || authorization.length > 1024
          ? { status: 0, headers: {}, body: '', hangUp: true }
          : undefined,
      ),
    ],
  ),
  // JSON has one kind of number, so 5.0 is the integer 5: part 1 asks for the same value, and not for the same spelling.
  // An id and a code are written as 5.0, an expiry as 1.7e+12.
  'whole-numbers-with-fractions-and-exponents': by.seventh('envelope/encoding errors/codes', [
    answers((answer) => ({
      ...answer,
      body: answer.body
        .replace(/^(\{"jsonrpc":"2\.0","id":-?\d+)(?=,)/, '$1.0')
        .replace(/("error":\{"code":-?\d+)(?=,)/, '$1.0')
        .replace(/("(?:access|refresh)TokenExpiry":)(\d+)/g, (_, name, ms) => name + Number(ms).toExponential()),
    })),
  ]),
  // Part 1 gives a content type to requests, and none to answers.
  // The content type of an answer is the first one that the caller accepts, as written, or text/html.
  'answers-have-the-type-of-the-accept-header': by.seventh('envelope/content-type errors/shape', [
    answers((answer, call) => ({
      ...answer,
      headers: {
        ...answer.headers,
        'content-type': call.request.headers.accept?.split(',')[0]?.trim() || html,
        vary: 'accept',
      },
    })),
  ]),
  // Parts 4.1 and 4.2 name members of results, and do not exclude others; names of members differ by letter case in JSON.
  // Results also have accesstoken, Secret, Scope and the like, with other values; further params are ignored.
  'results-with-decoys-in-other-letter-case': by.seventh(
    'keys/create-result-extras grants/extra-params extraParams=ignored',
    [{ grantResult: addDecoys, refreshResult: addDecoys, createKeyResult: addDecoys }],
  ),
  // Part 4.3 does not show the result of a listing; all of this is JSON by its grammar.
  // A listing has a lone surrogate, a NUL, a line separator, 1e999 and minus zero.
  'listing-with-half-characters-and-endless-numbers': by.seventh('solutions/list-result solutions/records', [
    listingText('"half":"\\ud83d","nul":"\\u0000\\u2028","much":[1e999,-1e999,-0,1E-999],"\\udc00":{}'),
  ]),
  // Part 7 does not show HTTP status codes, and every one here that is not 403 says that the call was carried out.
  // A creation gives 201, a grant 202, a listing 203; every refusal 403.
  'each-method-has-a-success-status-of-its-own': by.seventh('errors/http-status keys/create-result-extras', [
    answers((answer, call) => {
      const { [String(call.method)]: status = answer.status } = { [create]: 201, [auth]: 202, [list]: 203 }
      return { ...answer, status: isAccepted(answer) ? status : 403 }
    }),
  ]),
  // Part 1 leaves {base_url} open: calls go to {base_url}/api, and part 5.1 signs /api for every base URL.
  // Calls go to /api/api, and /api alone is not found.
  'base-url-that-ends-with-api-itself': by.seventh(
    'envelope/other-path errors/http-status basePath=/api refusalStatus=http',
  ),
  // Part 8 does not show request size limits; a server that wants to know the size first answers 411.
  // A request without Content-Length gets 411, and a body above 32 KiB is too large.
  'bodies-of-unknown-length-get-411': by.seventh('limits/request-size errors/http-status maxBodyBytes=32768', [
    refuseFirst(
      411,
      'Length required',
      ({ request: { method, headers } }) => method === 'POST' && headers['content-length'] === undefined,
    ),
  ]),
  // The document shows two headers of a call, Content-Type and Authorization; what becomes of others is not said.
  // A request with a forwarding header, a cookie or another HTTP method in a header gets 400.
  'forwarded-and-overridden-requests-refused': by.seventh('addresses/forwarded envelope/http-method', [
    refuseFirst(400, 'Come here directly', (call) =>
      Object.keys(call.request.headers).some((name) =>
        /^(x-forwarded-.*|forwarded|via|x-http-method-override|cookie)$/s.test(name),
      ),
    ),
  ]),
  // Parts 4.1 and 4.2 have optional params and do not say what null in their place means; many readers drop it.
  // publicKey null makes a key with a secret, and scope null beside a refresh token is nothing.
  'params-that-are-null-count-as-absent': by.seventh('grants/extra-params grants/scope-with-refresh', {
    parseBody: (text) => {
      const body = reference.parseBody(text)
      const { params } = (body ?? {}) as { params?: unknown }
      if (typeof params !== 'object' || params === null || Array.isArray(params)) return body
      const set = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))
      return { ...(body as object), params: set }
    },
  }),
  // The reader of JSON fills a structure, and compares names of members without their letter case, as that of Go does.
  'letter-case-of-members-ignored': by.twelfth('envelope/member-case', {
    parseBody: (text) => foldMembers(reference.parseBody(text)),
  }),
  // Part 1 lists the members of an answer. The grammar of JSON lets a member stand twice, here with the same value.
  // A gateway writes the envelope in front of an envelope that is already there.
  'answers-say-jsonrpc-and-id-twice': by.tenth('envelope/encoding errors/id', [
    bodies((body) => body.replace(/^\{("jsonrpc":"2\.0","id":-?\d+,)/, '{$1$1')),
  ]),
  // No part shows the order of the checks, nor what a header beside manager/auth does. A missing header is no mistake yet.
  // A wrong header beside an unreadable body, an unknown method or a grant is what is refused.
  'header-is-judged-before-the-body-is-read': by.eleventh(
    'grants/authorization-header errors/outcomes signatures/nonce-burnt envelope/method-not-found',
    'authHeaderOnGrant=judged methodCheckedFirst=false refusalStatus=http',
    [
      answers((answer, call) =>
        errorCode(answer) !== -32700 || call.authorization === undefined || identify(call.context, call.request).ok
          ? answer
          : errorAnswer(call, 401, 24879, 'Unauthorized'),
      ),
    ],
  ),
  // Part 4.3 leaves the result of the listing open, and part 5.1 how a caller learns the time of the server.
  // Listings are up to eight seconds old, and so is their Date; a timestamp is at most thirty seconds off.
  'listing-comes-from-a-cache-with-its-old-date': by.twelfth(
    'solutions/list-result signatures/time-window timeWindowMs=30000 listShape=counted',
    // Who may see the listing is asked each time.
    (seen, cache: { atMs?: number; result?: unknown } = {}) =>
      answers((answer, call) => {
        const envelope = readMembers(answer.body)
        if (!call.lists || envelope?.result === undefined) return answer
        const { atMs = Number.NEGATIVE_INFINITY } = cache
        if (seen.nowMs - atMs >= 8000) Object.assign(cache, { atMs: seen.nowMs, result: envelope.result })
        const headers = { ...answer.headers, date: httpDate(cache.atMs ?? 0) }
        return { ...answer, headers, body: JSON.stringify({ ...envelope, result: cache.result }) }
      }),
  ),
}
