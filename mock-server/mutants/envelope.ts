import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import { type Mutant, race } from './mutant.ts'

/** Accepts what `repair` makes of a body that is not JSON. */
const repaired = (repair: (text: string) => string) => (text: string) => JSON.parse(repair(text)) as unknown

/** Refuses a JSON body unless it is written in this form. */
const onlyIf = (fits: (text: string) => boolean) => (text: string) => {
  if (!fits(text)) throw new SyntaxError('not in the expected form')
  return JSON.parse(text) as unknown
}

/** Stores the id in a place shared by all calls, and lists slowly. */
function latestId(): Partial<Rules> {
  let latest: unknown
  return {
    parseBody: (text) => {
      const body = rules.parseBody(text)
      latest = (body as { id?: unknown }).id
      return body
    },
    echoedId: () => latest,
    beforeEffect: race('listing'),
  }
}

/** Part 1 of the document. */
export const envelopeMutants: Mutant[] = [
  {
    id: 'tokens-granted-at-another-path',
    breaks: 'envelope/post-api',
    with: {
      isCall: (httpMethod, path, callPath, body) =>
        httpMethod === 'POST' && path === (body.includes('"manager/auth"') ? '/auth' : callPath),
    },
  },
  {
    id: 'listing-at-another-path',
    breaks: 'envelope/post-api',
    with: {
      isCall: (httpMethod, path, callPath, body) =>
        httpMethod === 'POST' && path === (body.includes('"solution/listSolutions"') ? '/api/solutions' : callPath),
    },
  },
  {
    id: 'calls-taken-as-put',
    breaks: 'envelope/post-api',
    with: {
      isCall: (httpMethod, path, callPath, body) =>
        path === callPath && httpMethod === (body.includes('"manager/auth"') ? 'PUT' : 'POST'),
    },
  },
  {
    id: 'compact-json-demanded',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => JSON.stringify(JSON.parse(text)) === text) },
  },
  {
    id: 'json-in-one-line-demanded',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => !/[\r\n]/.test(text)) },
  },
  {
    id: 'order-of-members-demanded',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => Object.keys(JSON.parse(text))[0] === 'jsonrpc') },
  },
  {
    id: 'white-space-around-json-refused',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => text.trim() === text) },
  },
  {
    id: 'escaped-slash-refused',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => !text.includes('\\/')) },
  },
  {
    id: 'escaped-slash-stays-escaped',
    breaks: 'envelope/json-body',
    with: { parseBody: repaired((text) => text.replaceAll('\\/', '\\\\/')) },
  },
  {
    id: 'characters-by-number-refused',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => !text.includes('\\u')) },
  },
  {
    id: 'tabs-in-json-refused',
    breaks: 'envelope/json-body',
    with: { parseBody: onlyIf((text) => !text.includes('\t')) },
  },
  {
    id: 'auth-under-another-name',
    breaks: 'envelope/method-names',
    with: { methodName: (name) => (name === 'manager/auth' ? 'manager/login' : name) },
  },
  {
    id: 'listing-under-another-name',
    breaks: 'envelope/method-names',
    with: { methodName: (name) => (name === 'solution/listSolutions' ? 'solution/list' : name) },
  },
  {
    id: 'empty-params-refused',
    breaks: 'envelope/empty-params',
    with: {
      paramsTaken: (value, profile) => rules.paramsTaken(value, profile) && Object.keys(value as object).length > 0,
    },
  },
  {
    id: 'response-without-jsonrpc',
    breaks: 'envelope/response-jsonrpc',
    with: { answerVersion: () => undefined },
  },
  { id: 'response-jsonrpc-1', breaks: 'envelope/response-jsonrpc', with: { answerVersion: () => '1.0' } },
  { id: 'response-jsonrpc-a-number', breaks: 'envelope/response-jsonrpc', with: { answerVersion: () => 2.0 } },
  { id: 'id-echoed-as-text', breaks: 'envelope/id-echo', with: { echoedId: (id) => String(id) } },
  { id: 'id-left-out', breaks: 'envelope/id-echo', with: { echoedId: () => undefined } },
  { id: 'id-cut-to-32-bits', breaks: 'envelope/id-echo', with: { echoedId: (id) => Number(id) | 0 } },
  { id: 'id-without-its-sign', breaks: 'envelope/id-echo', with: { echoedId: (id) => Math.abs(Number(id)) } },
  {
    id: 'id-kept-within-32-bits',
    breaks: 'envelope/id-echo',
    with: { echoedId: (id) => Math.max(Number(id), -(2 ** 31)) },
  },
  {
    id: 'id-of-the-latest-call-echoed',
    breaks: 'envelope/id-echo',
    with: latestId(),
  },
  { id: 'id-zero-taken-for-none', breaks: 'envelope/id-echo', with: { echoedId: (id) => id || null } },
  {
    id: 'result-in-an-array',
    breaks: 'envelope/result-object',
    with: { resultMember: (_method, result) => [result] },
  },
  {
    id: 'listing-without-its-object',
    breaks: 'envelope/result-object',
    with: {
      resultMember: (method, result) =>
        method === 'solution/listSolutions' ? Object.values(result as object)[0] : result,
    },
  },
  {
    id: 'tokens-as-json-text',
    breaks: 'envelope/result-object',
    with: { resultMember: (method, result) => (method === 'manager/auth' ? JSON.stringify(result) : result) },
  },
  {
    id: 'method-taken-out-of-an-array',
    breaks: 'envelope/request-members',
    with: { methodMemberTaken: (value): value is string => typeof value === 'string' || Array.isArray(value) },
  },
  {
    id: 'missing-method-is-the-listing',
    breaks: 'envelope/request-members',
    with: {
      methodMemberTaken: (value): value is string => typeof value === 'string' || value === undefined,
      methodName: (name) => (name === 'undefined' ? 'solution/listSolutions' : name),
    },
  },
  {
    id: 'params-of-any-type',
    breaks: 'envelope/request-members',
    with: { paramsTaken: (value) => value !== undefined },
  },
  {
    id: 'unknown-method-answered',
    breaks: 'envelope/unknown-method',
    with: { unknownMethodResult: () => ({}) },
  },
  {
    id: 'unknown-operation-of-a-known-group-answered',
    breaks: 'envelope/unknown-method',
    with: { unknownMethodResult: (name) => (name.startsWith('solution/') ? {} : undefined) },
  },
  {
    id: 'longer-method-name-taken',
    breaks: 'envelope/unknown-method',
    with: { methodName: (name) => (name.startsWith('solution/listSolutions') ? 'solution/listSolutions' : name) },
  },
  {
    id: 'group-of-a-method-ignored',
    breaks: 'envelope/unknown-method',
    with: { methodName: (name) => (/(^|\/)listSolutions$/.test(name) ? 'solution/listSolutions' : name) },
  },
  {
    id: 'malformed-body-answered',
    breaks: 'envelope/malformed-answered',
    with: { malformedResult: () => ({}) },
  },
  {
    id: 'silent-after-a-malformed-body',
    breaks: 'envelope/malformed-answered',
    with: { answersAfterMalformed: () => false },
  },
  {
    id: 'trailing-comma-taken',
    breaks: 'envelope/malformed-answered',
    with: { parseBody: repaired((text) => text.replace(/,\s*}/g, '}')) },
  },
  {
    id: 'missing-bracket-added',
    breaks: 'envelope/malformed-answered',
    with: { parseBody: repaired((text) => (text.endsWith('{}') ? `${text}}` : text)) },
  },
  {
    id: 'text-after-the-json-ignored',
    breaks: 'envelope/malformed-answered',
    with: { parseBody: repaired((text) => text.slice(0, text.lastIndexOf('}') + 1)) },
  },
  {
    id: 'single-quotes-taken',
    breaks: 'envelope/malformed-answered',
    with: { parseBody: repaired((text) => text.replaceAll("'", '"')) },
  },
]
