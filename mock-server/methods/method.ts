import type { Caller } from '../caller.ts'
import { type Check, check, type Fields } from '../checks.ts'
import type { ServerContext } from '../context.ts'
import type { MockRequest } from '../http-server.ts'
import { type Outcome, refuse } from '../refusal.ts'
import type { Area, Rules } from '../rules.ts'

export type Params = { readonly [name: string]: unknown }

/** One call that passed all checks: authorized, with valid params and sufficient scope. */
export interface Call {
  context: ServerContext
  request: MockRequest
  params: Params
  /** Absent on manager/auth. */
  caller: Caller | undefined
}

/** The documented methods give an object; some extensions give a word. */
export type Result = object | 'OK'

export interface Method {
  name: string
  /** The scope that it needs; undefined: none. */
  area: Area | undefined
  params: Fields
  run(call: Call): Outcome<Result> | Promise<Outcome<Result>>
}

/** A method of an API area; the first part of its name is the area. */
export function method(name: `${Area}/${string}`, params: Method['params'], run: Method['run']): Method {
  return { name, area: name.split('/')[0] as Area, params, run }
}

/** A decision and its effect happen together; a replaced rule separates them. */
export function carryOut<T>(
  { rules }: ServerContext,
  effect: Parameters<Rules['beforeEffect']>[0],
  act: () => T,
): T | Promise<T> {
  const wait = rules.beforeEffect(effect)
  return wait ? wait.then(act) : act()
}

/** A string; its length is counted in UTF-16 units. */
export const text = (from: number, to: number): Check<string> =>
  check(`a text of ${from} to ${to} characters`, (value) => isText(value) && value.length >= from && value.length <= to)
const word = text(1, 128)
export const textList = check<string[]>(
  'a list of texts',
  (value) => Array.isArray(value) && value.length <= 128 && value.every((item) => word(item) === undefined),
)
export const anything: Check<unknown> = () => undefined

const isText = (value: unknown): value is string => typeof value === 'string'

/** The first param that is missing, wrong or unknown, as a refusal; undefined when all are right. */
export function paramsProblem(
  { rules, profile }: ServerContext,
  method: string,
  table: Method['params'],
  params: Params,
): ReturnType<typeof refuse> | undefined {
  for (const [name, expects] of Object.entries(table)) {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    if (!rules.paramTaken(method, name, value, expects(value) === undefined)) return refuse('params', `params/${name}`)
  }
  if (profile.extraParams === 'ignored') return undefined
  for (const name of Object.keys(params)) {
    if (!Object.hasOwn(table, name)) return refuse('params', 'params/extra')
  }
  return undefined
}

/** A param as text; under a replaced rule it may be anything. */
export const asText = (value: unknown): string => (isText(value) ? value : '')
/** A param as a list of texts; under a replaced rule it may be anything. */
export const asList = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(isText) : isText(value) ? [value] : []
