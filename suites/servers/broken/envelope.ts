import { methods } from '../../../mock-server/methods.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import { answerThrough, meets } from '../around.ts'
import { isAccepted, readMembers } from '../call.ts'
import { race, twoMs } from '../in-flight.ts'
import { also, every, unless } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, marks, type Seen, table } from '../rows.ts'

/** Accepts what `repair` makes of a body that is not JSON. */
const repaired = (repair: (text: string) => string) => (text: string) => JSON.parse(repair(text)) as unknown

/** Reads a body that is not JSON in another way. */
const orElse = (read: (text: string) => unknown) => (text: string) => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return read(text)
  }
}

/** Another result of a listing. */
const listing =
  (change: (result: unknown, seen: Seen) => unknown) =>
  (seen: Seen): Change => ({
    resultMember: (method, result) => (method === 'solution/listSolutions' ? change(result, seen) : result),
  })

/** Refuses a JSON body unless it is written in this form. */
const onlyIf = (fits: (text: string) => boolean) => (text: string) => {
  if (!fits(text)) throw new SyntaxError('not in the expected form')
  return JSON.parse(text) as unknown
}

const isEmpty = (value: unknown): boolean => Object.keys(value ?? {}).length === 0

const groupOf = (method: string): string => method.split('/')[0] ?? ''

/** The fields of a form as a request; throws if they name no method. */
function readForm(text: string): object {
  const fields = new URLSearchParams(text)
  const method = fields.get('method')
  if (method === null) throw new SyntaxError('Name a method')
  return { jsonrpc: '2.0', id: Number(fields.get('id')), method, params: {} }
}

const known = ['manager/auth', 'manager/createApiKey', 'solution/listSolutions']

/** Stores the id in a place shared by all calls, and lists slowly. */
const latestId = (_seen: Seen, latest?: unknown): Change => ({
  parseBody: (text) => {
    const body = right.parseBody(text)
    latest = (body as { id?: unknown }).id
    return body
  },
  echoedId: () => latest,
  beforeEffect: race('listing'),
})

export const envelope: BrokenRows = {
  'envelope/post-api': {
    'tokens-granted-at-another-path': {
      isCall: (httpMethod, path, callPath, body) =>
        httpMethod === 'POST' && path === (body.includes('"manager/auth"') ? '/auth' : callPath),
    },
    'listing-at-another-path': {
      isCall: (httpMethod, path, callPath, body) =>
        httpMethod === 'POST' && path === (body.includes('"solution/listSolutions"') ? '/api/solutions' : callPath),
    },
    'calls-taken-as-put': {
      isCall: (httpMethod, path, callPath, body) =>
        path === callPath && httpMethod === (body.includes('"manager/auth"') ? 'PUT' : 'POST'),
    },
    'every-fiftieth-call-not-found': by.first(every(50, 'isCall', () => false)),
  },
  'envelope/json-body': {
    'compact-json-demanded': { parseBody: onlyIf((text) => JSON.stringify(JSON.parse(text)) === text) },
    'json-in-one-line-demanded': { parseBody: onlyIf((text) => !/[\r\n]/.test(text)) },
    'order-of-members-demanded': { parseBody: onlyIf((text) => Object.keys(JSON.parse(text))[0] === 'jsonrpc') },
    'white-space-around-json-refused': { parseBody: onlyIf((text) => text.trim() === text) },
    'escaped-slash-refused': { parseBody: onlyIf((text) => !text.includes('\\/')) },
    'characters-by-number-refused': { parseBody: onlyIf((text) => !text.includes('\\u')) },
    'tabs-in-json-refused': { parseBody: onlyIf((text) => !text.includes('\t')) },
    // The reader waits for a last piece that is shorter than its buffer, and then has nothing.
    'body-of-a-multiple-of-256-bytes-not-read': by.fourth((seen) => ({
      parseBody: (text) => right.parseBody(seen.request.body.length % 256 === 0 ? '' : text),
    })),
    'escaped-slash-stays-escaped': { parseBody: repaired((text) => text.replaceAll('\\/', '\\\\/')) },
  },
  'envelope/method-names': {
    'auth-under-another-name': { methodName: (name) => (name === 'manager/auth' ? 'manager/login' : name) },
    'listing-under-another-name': {
      methodName: (name) => (name === 'solution/listSolutions' ? 'solution/list' : name),
    },
    // The method is looked for in the text of the body, where some JSON writers put a backslash before the slash.
    'method-with-escaped-slash-unknown': by.first((seen) => ({
      methodName: (name) => (seen.bodyHas('\\/') ? `?${name}` : name),
    })),
    'dot-for-slash-in-method-name-taken': by.fourth({ methodName: (name) => name.replace('.', '/') }),
    // The router remembers for 100 ms that it found nothing, and looks that up by the group.
    'unknown-method-hides-its-group-for-100-ms': by.ninth((seen, missedMs = table<number>()) => ({
      methodName: (name) => {
        const isHidden = seen.nowMs - (missedMs.get(groupOf(name)) ?? Number.NEGATIVE_INFINITY) < 100
        if (!methods.has(name)) missedMs.set(groupOf(name), seen.nowMs)
        return isHidden ? 'unknown/unknown' : name
      },
    })),
  },
  'envelope/empty-params': {
    'empty-params-refused': unless('paramsTaken', isEmpty),
    'empty-params-refused-with-token': by.first((seen) =>
      unless('paramsTaken', (value, profile) => {
        const isToken = seen.authorization?.startsWith(`${profile.tokenPrefix} `) === true
        return isEmpty(value) && isToken
      }),
    ),
    'empty-params-refused-behind-full-ones-on-connection': by.third((seen, connections = marks()) => ({
      paramsTaken: (value, profile) => {
        const taken = right.paramsTaken(value, profile)
        if (taken && seen.connection !== undefined && !isEmpty(value)) connections.add(seen.connection)
        return taken && !(isEmpty(value) && connections.has(seen.connection))
      },
    })),
    'empty-params-refused-in-ecc-calls': by.fourth((seen) =>
      unless('paramsTaken', (value) => seen.byPublicKey && isEmpty(value)),
    ),
  },
  'envelope/response-jsonrpc': {
    'response-jsonrpc-a-number': { answerVersion: () => 2.0 },
    'answer-to-refresh-without-jsonrpc': by.first((seen) => ({
      answerVersion: () => (seen.bodyHas('"refresh_token"') ? undefined : '2.0'),
    })),
    // The answer: "jsonrpc | string | `2.0`"
    'answer-behind-refusal-on-connection-without-jsonrpc': by.third((_seen, connections = marks()) => ({
      around: answerThrough((answer, call) => {
        if (!isAccepted(answer) && call.connection !== undefined) connections.add(call.connection)
        if (!isAccepted(answer) || !connections.delete(call.connection)) return answer
        return { ...answer, body: JSON.stringify({ ...readMembers(answer.body), jsonrpc: undefined }) }
      }),
    })),
    'jsonrpc-is-a-number-in-answers-to-tokens': by.fourth((seen) => ({
      answerVersion: () => (seen.pair === undefined ? '2.0' : 2),
    })),
    'answer-to-key-creation-in-json-rpc-1-0': by.fifth((seen) => ({
      answerVersion: () => (seen.creates ? '1.0' : '2.0'),
    })),
    'response-jsonrpc-1': { answerVersion: () => '1.0' },
    'response-without-jsonrpc': { answerVersion: () => undefined },
  },
  'envelope/id-echo': {
    'id-echoed-as-text': { echoedId: (id) => String(id) },
    'id-without-its-sign': { echoedId: (id) => Math.abs(Number(id)) },
    'id-kept-within-32-bits': { echoedId: (id) => Math.max(Number(id), -(2 ** 31)) },
    // A member whose value is zero is left out of what this method writes.
    'id-zero-left-out-of-grants': (seen) => ({ echoedId: (id) => (seen.isGrant && id === 0 ? undefined : id) }),
    // Only the second answer of a connection is wrong: it carries the id of the first.
    'second-answer-on-connection-repeats-id': by.first((seen, answers = table<unknown[]>()) => ({
      echoedId: (id) => {
        const ids = [...(answers.get(seen.connection) ?? []), id]
        if (seen.connection !== undefined) answers.set(seen.connection, ids)
        return ids.length === 2 ? ids[0] : id
      },
    })),
    // The id is kept in a variable of the server while a listing waits for 2 ms.
    'concurrent-listings-answer-with-last-id': by.first((seen) => ({
      beforeEffect: (effect) => (effect === 'listing' ? twoMs() : undefined),
      echoedId: (id) => seen.members.id ?? id,
    })),
    // A layer in front of the server reads the answer and writes it again.
    'id-beyond-53-bits-rounded': by.third({
      around: answerThrough((answer) =>
        isAccepted(answer) ? { ...answer, body: JSON.stringify(JSON.parse(answer.body)) } : answer,
      ),
    }),
    // A call is made as soon as its params are read, with the id that was read until then.
    'id-behind-params-not-echoed': by.third({
      around: answerThrough((answer, call) => {
        const names = Object.keys(call.members)
        if (!isAccepted(answer) || names.indexOf('id') < names.indexOf('params')) return answer
        return { ...answer, body: JSON.stringify({ ...readMembers(answer.body), id: 0 }) }
      }),
    }),
    // The answer is stored with the refresh token, and filled in again.
    'refresh-answered-with-id-of-its-grant': by.fourth((_seen, ids = table<unknown>()) => ({
      around: meets(async (call, next) => {
        const answer = await next()
        if (!call.is('manager/auth') || !isAccepted(answer)) return answer
        const members = readMembers(answer.body) ?? {}
        const first = ids.get(call.params.refreshToken)
        const id = first ?? members.id
        ids.set(readMembers(JSON.stringify(members.result))?.refreshToken, id)
        return first === undefined ? answer : { ...answer, body: JSON.stringify({ ...members, id }) }
      }),
    })),
    'id-of-key-creation-echoed-as-text': by.eighth((seen) => ({ echoedId: (id) => (seen.creates ? String(id) : id) })),
    // Ids must not fall, as those of a stream of messages.
    'id-below-that-of-last-call-on-connection-refused': by.eighth((_seen, last = table<number>()) => ({
      around: meets((call, next) => {
        const { connection } = call.request
        const { id } = call.members
        if (connection === undefined || typeof id !== 'number') return next()
        if (id < (last.get(connection) ?? id)) return next(call.withBody(Buffer.from('{}')))
        last.set(connection, id)
        return next()
      }),
    })),
    'answer-to-grant-without-id': by.ninth((seen) => ({
      echoedId: (id) => (seen.bodyHas('manager/auth') ? undefined : id),
    })),
    'id-cut-to-32-bits': { echoedId: (id) => Number(id) | 0 },
    'id-left-out': { echoedId: () => undefined },
    'id-of-the-latest-call-echoed': latestId,
    'id-zero-taken-for-none': { echoedId: (id) => id || null },
  },
  'envelope/result-object': {
    'result-in-an-array': { resultMember: (_method, result) => [result] },
    'listing-without-its-object': listing((result) => Object.values(result as object)[0]),
    'tokens-as-json-text': {
      resultMember: (method, result) => (method === 'manager/auth' ? JSON.stringify(result) : result),
    },
    'signed-listing-answered-with-a-list': by.first(
      listing((result, { request, context }) =>
        request.headers.authorization?.startsWith(context.profile.scheme) ? [result] : result,
      ),
    ),
    'result-of-listing-is-a-list-for-created-keys': by.fourth(
      listing((result, seen) => (seen.caller?.initial === false ? Object.values(result as object) : result)),
    ),
    'result-of-listing-is-null-for-tokens-of-created-keys': by.eighth(
      listing((result, seen) => (seen.pair?.key.initial === false ? null : result)),
    ),
  },
  'envelope/request-members': {
    'method-taken-out-of-an-array': {
      methodMemberTaken: (value): value is string => typeof value === 'string' || Array.isArray(value),
    },
    'params-of-any-type': { paramsTaken: (value) => value !== undefined },
    'missing-method-is-that-of-last-call': by.second((_seen, last?: string) => ({
      methodMemberTaken: (value): value is string => typeof value === 'string' || value === undefined,
      methodName: (name) => {
        if (name !== 'undefined') last = name
        return last ?? name
      },
    })),
    // For clients that encode the params before the envelope: `"params": "{}"`.
    'params-as-json-text-accepted': by.tenth(
      also('paramsTaken', (value) => typeof value === 'string' && readMembers(value) !== undefined),
    ),
    'missing-method-is-the-listing': {
      methodMemberTaken: (value): value is string => typeof value === 'string' || value === undefined,
      methodName: (name) => (name === 'undefined' ? 'solution/listSolutions' : name),
    },
  },
  'envelope/unknown-method': {
    'unknown-method-answered': { unknownMethodResult: () => ({}) },
    'unknown-operation-of-a-known-group-answered': {
      unknownMethodResult: (name) => (name.startsWith('solution/') ? {} : undefined),
    },
    'longer-method-name-taken': {
      methodName: (name) => (name.startsWith('solution/listSolutions') ? 'solution/listSolutions' : name),
    },
    'letter-case-of-method-ignored': by.first({
      methodName: (name) => known.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name,
    }),
    // The group is not looked at: manager/listSolutions lists the solutions.
    'operation-found-in-every-group': by.second({
      methodName: (name) =>
        known.find((one) => name.includes('/') && one.split('/')[1] === name.slice(name.indexOf('/') + 1)) ?? name,
    }),
    'doubled-slash-in-method-name-accepted': by.third({
      methodName: (name) => right.methodName(name.replaceAll(/\/{2,}/g, '/')),
    }),
    'method-name-in-snake-case-accepted': by.eighth({
      methodName: (name) => name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
    }),
    'slash-in-front-of-method-name-ignored': by.ninth({ methodName: (name) => name.replace(/^\//, '') }),
    // A name that fits the beginning of one method only stands for it, as on a command line.
    'beginning-of-operation-suffices': by.tenth({
      methodName: (name) => {
        const fitting = [...methods.keys()].filter((known) => known.startsWith(name))
        return /^[a-z]+\/./.test(name) && fitting.length === 1 ? (fitting[0] ?? name) : name
      },
    }),
    // The operations of a group are members of an object, which also has members like toString.
    'operation-found-in-prototype-of-objects': by.twelfth({
      unknownMethodResult: (name) => {
        const [group = '', operation = '', ...rest] = name.split('/')
        return ['manager', 'solution'].includes(group) && operation in {} && rest.length === 0 ? {} : undefined
      },
    }),
    'group-of-a-method-ignored': {
      methodName: (name) => (/(^|\/)listSolutions$/.test(name) ? 'solution/listSolutions' : name),
    },
  },
  'envelope/malformed-answered': {
    'malformed-body-answered': { malformedResult: () => ({}) },
    'silent-after-a-malformed-body': { answersAfterMalformed: () => false },
    'trailing-comma-taken': { parseBody: repaired((text) => text.replace(/,\s*}/g, '}')) },
    'missing-bracket-added': { parseBody: repaired((text) => (text.endsWith('{}') ? `${text}}` : text)) },
    'text-after-the-json-ignored': { parseBody: repaired((text) => text.slice(0, text.lastIndexOf('}') + 1)) },
    'single-quotes-taken': { parseBody: repaired((text) => text.replaceAll("'", '"')) },
    // Three bodies in a row that are not JSON make the server refuse the next call.
    'call-after-third-malformed-body-refused': by.first((_seen, inARow = 0) => ({
      parseBody: (text) => {
        inARow += 1
        const value = right.parseBody(text)
        inARow = 0
        return value
      },
      answersAfterMalformed: () => {
        if (inARow < 3) return true
        inARow = 0
        return false
      },
    })),
    'comments-in-json-skipped': by.fourth({
      parseBody: (text) => right.parseBody(text.replaceAll(/("(?:[^"\\]|\\.)*")|\/\*.*?\*\//gs, '$1')),
    }),
    // What is not JSON is read as a form: `id=7&method=solution/listSolutions`.
    'form-fields-taken-instead-of-json': by.ninth({ parseBody: orElse(readForm) }),
    // The reader of bodies is that of the configuration files.
    'unquoted-names-in-json-accepted': by.twelfth({
      parseBody: orElse((text) => JSON.parse(text.replace(/([{,]\s*)([A-Za-z_]\w*)\s*:/g, '$1"$2":'))),
    }),
  },
}
