import { admit, type Caller, identify, initialCaller } from './caller.ts'
import type { ServerContext } from './context.ts'
import { decodeUtf8, rawId } from './encoding.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import { auth, type Method, methods, type Params, paramsProblem } from './methods.ts'
import { type Outcome, type Refusal, refuse, succeed } from './refusal.ts'

/** The outcome of one JSON-RPC request. Members that could not be read are undefined. */
export interface RpcOutcome {
  id: unknown
  /** The id as it was sent, where it is an integer that a number does not hold exactly. */
  idText?: string | undefined
  /** As sent. */
  method: string | undefined
  params: Params | undefined
  caller: Caller | undefined
  outcome: Outcome<unknown>
  /** Answered without a body. */
  silent: boolean
}

type Maybe<T> = T | Promise<T>

/** Reads the body and answers each request in it: one, or a list if the profile accepts batches. */
export function answerBody(context: ServerContext, request: MockRequest): Maybe<RpcOutcome | RpcOutcome[]> {
  const { rules, profile, state } = context
  if (state.sawMalformed && !rules.answersAfterMalformed()) return unread(refuse('parse', 'envelope/json'))
  const body = parse(context, request.body)
  if (!body.ok) {
    state.sawMalformed = true
    const result = rules.malformedResult()
    return result ? { ...unread(body), id: 0, outcome: succeed(result) } : unread(body)
  }
  // Once for the whole body: a second check of the same signature would find its nonce used.
  let found: Outcome<Caller> | undefined
  const callerFor = (method: string) => {
    found ??= identify(context, request)
    return admit(context, found, method)
  }
  if (Array.isArray(body.value) && profile.batch === 'answered' && body.value.length > 0 && body.value.length <= 100) {
    return answerList(context, request, body.value, callerFor)
  }
  return answerOne(context, request, body.value, callerFor)
}

/** The id as sent, where parsing may have rounded it. */
function exactId(id: unknown, request: MockRequest): string | undefined {
  if (typeof id !== 'number' || Number.isSafeInteger(id) || !Number.isInteger(id)) return undefined
  return rawId(request.body.toString('utf8'))
}

async function answerList(
  context: ServerContext,
  request: MockRequest,
  list: unknown[],
  callerFor: (method: string) => Outcome<Caller>,
): Promise<RpcOutcome[]> {
  const answers: RpcOutcome[] = []
  for (const item of list) answers.push(await answerOne(context, request, item, callerFor))
  return answers
}

function unread(outcome: { ok: false; refusal: Refusal }): RpcOutcome {
  return { id: undefined, method: undefined, params: undefined, caller: undefined, outcome, silent: false }
}

function parse({ rules }: ServerContext, bytes: Buffer): Outcome<unknown> {
  const text = decodeUtf8(bytes)
  if (text === undefined) return refuse('parse', 'envelope/utf-8')
  try {
    return succeed(rules.parseBody(text))
  } catch {
    return refuse('parse', 'envelope/json')
  }
}

function answerOne(
  context: ServerContext,
  request: MockRequest,
  value: unknown,
  callerFor: (method: string) => Outcome<Caller>,
): Maybe<RpcOutcome> {
  const { rules, profile } = context
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return unread(refuse('parse', 'envelope/object'))
  const envelope = value as { readonly [member: string]: unknown }
  const stage = envelopeProblem(context, envelope)
  if (stage !== undefined) return unread(refuse('parse', stage))
  const { id } = envelope
  const named = String(envelope.method)
  const name = rules.methodName(named)
  const method = methods.get(name)
  // Filled step by step; one object, because this is the hot path.
  const call: RpcOutcome = {
    id,
    method: named,
    params: undefined,
    caller: undefined,
    outcome: unknownMethod,
    silent: id === undefined && profile.notifications === 'no-body',
  }
  const idText = exactId(id, request)
  if (idText !== undefined) call.idText = idText

  if (!method && profile.methodCheckedFirst) return withUnknown(context, call, name)
  if (rules.authorizationRequired(name)) {
    const found = callerFor(name)
    if (!found.ok) {
      call.outcome = found
      return call
    }
    call.caller = found.value
  } else if (method !== auth) {
    const found = request.headers.authorization === undefined ? undefined : callerFor(name)
    call.caller = found?.ok ? found.value : initialCaller(context)
  }
  if (!method) return withUnknown(context, call, name)
  const { caller } = call
  const params = typeof envelope.params === 'object' && envelope.params !== null ? (envelope.params as Params) : {}
  call.params = params
  const outcome = callProblem(context, method, params, caller) ?? method.run({ context, request, params, caller })
  if (outcome instanceof Promise) return outcome.then((late) => ({ ...call, outcome: late }))
  call.outcome = outcome
  return call
}

const unknownMethod = refuse('method', 'method/unknown')

function withUnknown({ rules }: ServerContext, call: RpcOutcome, name: string): RpcOutcome {
  const result = rules.unknownMethodResult(name)
  if (result) call.outcome = succeed(result)
  return call
}

/** The first thing that is wrong about the members of a request, as a stage. */
function envelopeProblem(
  { rules, profile }: ServerContext,
  envelope: { readonly [member: string]: unknown },
): string | undefined {
  if (!rules.versionMemberTaken(envelope.jsonrpc, profile)) return 'envelope/jsonrpc'
  if (envelope.id === undefined ? !rules.missingIdTaken(profile) : !rules.idTaken(envelope.id, profile))
    return 'envelope/id'
  if (!rules.methodMemberTaken(envelope.method)) return 'envelope/method'
  if (!rules.paramsTaken(envelope.params, profile)) return 'envelope/params'
  if (profile.extraMembers === 'ignored') return undefined
  const extra = Object.keys(envelope).some((member) => !['jsonrpc', 'id', 'method', 'params'].includes(member))
  return extra ? 'envelope/extra' : undefined
}

/** Params first, then scope. manager/auth checks its own, which depend on the grant. */
function callProblem(
  context: ServerContext,
  method: Method,
  params: Params,
  caller: Caller | undefined,
): { ok: false; refusal: Refusal } | undefined {
  if (method === auth) return undefined
  const problem = paramsProblem(context, method.name, method.params, params)
  if (problem) return problem
  const { rules } = context
  const { area } = method
  if (area === undefined || !rules.scopeNeeded(method.name, area)) return undefined
  if (caller?.scopes.some((scope) => rules.scopeOpens(scope, area))) return undefined
  return refuse('scope', 'scope/area', area === 'manager' ? 'apiKey' : area)
}

let dateSecond = -1
let dateText = ''
/** The Date header, computed once a second. */
function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

function headersFor(context: ServerContext, contentType: string | undefined): { [name: string]: string } {
  const headers: { [name: string]: string } = { date: httpDate(context.now()) }
  if (contentType !== undefined) headers['content-type'] = contentType
  if (context.profile.closeConnections) headers.connection = 'close'
  return headers
}

/** An answer that is not JSON-RPC. */
export function plainAnswer(context: ServerContext, status: number, body: string): MockAnswer {
  return { status, headers: headersFor(context, 'text/plain; charset=utf-8'), body }
}

/** An answer without a body. */
export function emptyAnswer(context: ServerContext, status: number): MockAnswer {
  return { status, headers: headersFor(context, undefined), body: '' }
}

/** The one place that turns a result or a refusal into an answer. */
export function renderOutcome(context: ServerContext, outcome: RpcOutcome | RpcOutcome[]): MockAnswer {
  if (Array.isArray(outcome))
    return jsonAnswer(context, 200, `[${outcome.map((one) => memberText(context, one)).join(',')}]`)
  if (outcome.silent) return emptyAnswer(context, 204)
  if (outcome.outcome.ok) return jsonAnswer(context, 200, memberText(context, outcome))
  const { refusal } = outcome.outcome
  const { errorBody, refusalStatus } = context.profile
  const status = refusalStatus === 'http' || errorBody !== 'json-rpc' ? refusal.httpStatus : 200
  const answer =
    errorBody === 'none'
      ? emptyAnswer(context, status)
      : errorBody === 'text'
        ? plainAnswer(context, status, refusal.message)
        : jsonAnswer(context, status, memberText(context, outcome))
  if (context.explain) answer.headers['x-refused-at'] = refusal.stage
  return answer
}

function jsonAnswer(context: ServerContext, status: number, body: string): MockAnswer {
  return { status, headers: headersFor(context, 'application/json; charset=utf-8'), body }
}

/** One JSON-RPC answer; members that a replaced rule leaves out are undefined and vanish in JSON. */
function memberText(context: ServerContext, answer: RpcOutcome): string {
  const { id, idText } = answer
  const text = roundedText(context, answer)
  // The id stands before everything that callers choose.
  return idText === undefined ? text : text.replace(`"id":${JSON.stringify(id)}`, `"id":${idText}`)
}

function roundedText({ rules, profile }: ServerContext, { id, method, outcome }: RpcOutcome): string {
  if (!outcome.ok) {
    const { refusal } = outcome
    return JSON.stringify({ jsonrpc: '2.0', id: errorId(profile.errorId, id, refusal), error: errorObject(refusal) })
  }
  const result = profile.extraResultMembers ? withExtras(outcome.value) : outcome.value
  return JSON.stringify({
    jsonrpc: rules.answerVersion(),
    id: rules.echoedId(id),
    result: rules.resultMember(method ?? '', result),
  })
}

function errorObject({ code, message, data }: Refusal): object {
  return data === undefined ? { code, message } : { code, message, data }
}

function errorId(form: 'request' | 'null' | 'none', id: unknown, refusal: Refusal): unknown {
  if (form === 'null') return null
  return form === 'none' || !refusal.idKnown ? undefined : id
}

function withExtras(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? { ...value, serverVersion: '2.2.0', warnings: [] } : value
}

/** Adds headers to an answer, and returns it. */
export function withHeaders(answer: MockAnswer, more: { [name: string]: string }): MockAnswer {
  Object.assign(answer.headers, more)
  return answer
}
