/**
 * A wrong answer to a call that was only listened to: the calls on which it rests, and the scenario that asks for it again. The scenario is told
 * from what the model knows of a pair and its keys, so that no earlier call is needed, and takes no value of the traffic over but words of scope.
 */

import { isStrings } from '../engine/json.ts'
import type { ListeningFinding } from '../engine/judge/problem.ts'
import { readDeviations } from '../engine/language/deviations.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { findPair, readCall } from '../engine/model/read-call.ts'
import {
  type Key,
  memberOf,
  type Pair,
  type Problem,
  pairsOfLine,
  type State,
  type Verdict,
} from '../engine/model/state.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { changeText } from '../engine/signer/operations.ts'
import { type CaseCall, describeCaseCall, made, unknownAddress } from './case-call.ts'
import { fixtureText } from './fixture-text.ts'
import {
  type Auth,
  anyCall,
  atOnce,
  basic,
  type CallStep,
  type Change,
  changed,
  create,
  ecc,
  grant,
  hmac,
  inDocumentOrder,
  named,
  none,
  pause,
  refresh,
  type Step,
} from './step.ts'

type Kind = 'let-in' | 'shape' | 'history'

interface Wrong extends Pick<Problem, 'requirement' | 'level' | 'message' | 'demands'>, Partial<Pick<Verdict, 'fact'>> {
  /** `history`: no order of calls at the same time explains their answers. */
  readonly kind: Kind
  /** The calls at the same time, itself among them, where it is about their order. */
  readonly group?: readonly CaseCall[] | undefined
  /** The known mistake in its signature, by its id. */
  readonly mistake?: string | undefined
}

interface Listened {
  /** What was known before the call. */
  readonly state: State
  /** Calls before it, among them those on which it rests. */
  readonly log: readonly CaseCall[]
  readonly requirements: readonly Requirement[]
  /** The ids of what was found already, which is not written again. */
  readonly known: ReadonlySet<string>
}

/** What was found, by what a baseline names: one for each requirement, kind of finding and what the fact is about. */
export function wrongAnswer(
  { state, log, requirements, known }: Listened,
  caseCall: CaseCall,
  wrong: Wrong,
): ListeningFinding {
  const { requirement, level, message, fact, kind } = wrong
  const about = (fact?.about ?? '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  const id = `found/${requirement}/${kind}${about === '' ? '' : `-${about}`}`
  const before = log.filter((earlier) => made(state, earlier, caseCall)).slice(-5)
  const sentence = known.has(id) ? undefined : requirements.find((one) => one.id === requirement)
  return {
    id,
    requirement,
    level,
    message,
    steps: [
      ...before.map((one) => `${describeCaseCall(state, one)}: accepted`),
      `${describeCaseCall(state, caseCall)}: ${caseCall.answer.kind}`,
    ],
    fixture: sentence === undefined ? null : scenarioOf(state, caseCall, wrong, sentence),
  }
}

/** The time between two calls matters where an access token ended in it. */
function untilEnd({ made: { to }, accessEnds }: Pair, nextMs: number): Step[] {
  return accessEnds !== null && accessEnds.to < nextMs ? [pause(Math.ceil(nextMs - to))] : []
}

/** Thrown where a call cannot be told without what only this traffic had. */
class NotTold extends Error {}

/** @returns null where another server, or this one at another time, may rightly answer otherwise */
function scenarioOf(
  state: State,
  caseCall: CaseCall,
  { requirement, message, demands, kind, group = [], mistake }: Wrong,
  { text, part }: Requirement,
): string | null {
  try {
    if (requirement.startsWith('limits/')) throw new NotTold('it rests on all keys of this server')
    const told = tellCalls(state, caseCall, requirement, kind)
    const pair = presentedBy(state, caseCall)
    const before = [
      ...(pair === undefined ? [] : told.line(pair)),
      ...(pair === undefined || /expir|expiry/.test(requirement) ? [] : untilEnd(pair, caseCall.span.from)),
      ...(pair !== undefined && requirement.startsWith('sessions/') ? told.newerSessions(pair) : []),
    ]
    const rivals = kind === 'history' ? group.filter((one) => presentedBy(state, one) === pair) : [caseCall]
    if (kind === 'history' && rivals.length < 2) throw new NotTold('which calls it rests on is not known')
    const calls = rivals.map((one) => told.call(one, mistake))
    const [only] = calls as [CallStep]
    const last = kind === 'history' ? atOnce(calls, 'new') : kind === 'shape' ? named(only, 'judged') : only
    const steps = [...before, last].map(inDocumentOrder)
    return fixtureText({
      requirement,
      part,
      sentence: text,
      message,
      steps,
      outcomes: steps.map(() => 'accepted'),
      ...(kind === 'shape' ? { expect: 'accepted', result: demands ?? {}, mayBeRefused: true } : { expect: 'refused' }),
      ...(kind === 'history' ? { wrong: { at: rivals.indexOf(caseCall), isByItself: false } } : {}),
      creationOf: told.creationOf,
      ofTarget: told.ofTarget,
    }).fixture
  } catch (error) {
    if (error instanceof NotTold) return null
    throw error
  }
}

/** The pair whose token a call presents, whether it belongs there or not. */
function presentedBy(state: State, { call }: CaseCall): Pair | undefined {
  const { found, auth, params = {} } = readCall(state, call)
  const other = auth.kind === 'token' ? findPair(state, auth.token, 'refresh') : undefined
  const refreshToken = typeof params.refreshToken === 'string' ? params.refreshToken : undefined
  return (found ?? other ?? findPair(state, refreshToken, 'access'))?.pair
}

/** Tells what is known as steps. Names, ids and solutions of the traffic get names of the language. */
function tellCalls(state: State, { call: { from } }: CaseCall, requirement: string, kind: Kind) {
  const creations = new Map<string, CallStep[]>()
  const ofTarget = new Map<string, string>()
  let solutions = 0
  const numbers = new Map<string, number>()
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size + 1
    numbers.set(text, number)
    return number
  }

  const nameOfKey = (key: Key | undefined): string => {
    // Accepted credentials are right; of a key that was there before, any does that is created in the same way.
    if (key === undefined && kind === 'shape') return 'root'
    if (key === undefined) throw new NotTold('its key is not known')
    if (key.scope === null) return key.publicKey === null ? 'root' : 'ecc-a'
    const name = `seen-${numberOf(`key ${key.id}`)}`
    if (!creations.has(name))
      creations.set(name, [
        create(
          basic('root'),
          {
            name,
            scope: wordsOf(key.scope),
            ...(key.publicKey === null ? {} : { publicKey: `$${name}-own.publicKey` }),
          },
          { as: name },
        ),
      ])
    return name
  }

  const wordsOf = (scope: readonly string[]): string[] =>
    scope.map((word) => {
      const [, restriction, value = ''] = /^(session|ipAddr|solution):(.+)$/s.exec(word) ?? []
      if (restriction === 'session') return `session:s${(numberOf(`session ${value}`) + 9).toString(36)}$unique`
      if (restriction === 'ipAddr' && from === unknownAddress && requirement.includes('address'))
        throw new NotTold('which address its caller has is not known')
      // A token that worked is bound to the address of its client.
      if (restriction === 'ipAddr' && (from === unknownAddress || value === from))
        ofTarget.set(value, '$client.address')
      if (restriction === 'solution' && value !== '*' && !ofTarget.has(value))
        ofTarget.set(value, `$solutions.${solutions++}`)
      return word
    })

  const nameOfPair = ({ line, generation }: Pair): string => `pair-${line + 1}x${generation}`

  const granting = (pair: Pair): CallStep =>
    grant(nameOfKey(state.keys.get(pair.key)), wordsOf(pair.scope), { as: nameOfPair(pair) })

  /** The token that a call presents, as a reference. */
  const reference = (text: string): string => {
    for (const which of ['access', 'refresh'] as const) {
      const found = findPair(state, text, which)
      if (found?.exact === true) return `$${nameOfPair(found.pair)}.${which}Token`
    }
    throw new NotTold('its token is not one that was issued in sight, as it was issued')
  }

  const authOf = (caseCall: CaseCall, mistake: string | undefined): { auth: Auth; changes: Change[] } => {
    const { auth, key, isKeyExact } = readCall(state, caseCall.call)
    if (auth.kind === 'none') return { auth: none, changes: [] }
    if (auth.kind === 'token') return { auth: { token: reference(auth.token) }, changes: [] }
    if (auth.kind !== 'basic' && auth.kind !== 'signature')
      throw new NotTold('its Authorization header is of a form that has no name')
    if (!auth.plain || !isKeyExact) throw new NotTold('its header is written in another way than the document shows')
    const name = nameOfKey(key)
    if (auth.kind === 'basic') {
      const changes =
        key === undefined || auth.secret === key.secret ? [] : [changeBetween('basic-secret', key.secret, auth.secret)]
      return { auth: basic(name), changes }
    }
    const isHmac = key === undefined ? auth.fields.at(-1)?.length === lengthOfHmac : key.publicKey === null
    if (key === undefined && !isHmac) throw new NotTold('what key it has is not known')
    const signed = isHmac ? hmac(name) : ecc(name)
    const isWrong = caseCall.call.signature?.is === 'no' || requirement.startsWith('signatures/')
    if (!isWrong) return { auth: signed, changes: [] }
    if (mistakeById(mistake ?? '')?.made !== true) throw new NotTold('no known mistake explains its signature')
    return { auth: signed, changes: [{ field: 'mistake', operation: mistake as string }] }
  }

  const paramsOf = (caseCall: CaseCall): { params: CallStep['params']; changes: Change[] } => {
    const { body, params = {}, key } = readCall(state, caseCall.call)
    const { grantType = 'api_key_credentials', refreshToken, apiKeySecret, scope, publicKey } = params
    const shown = paramsOfMethod[String(body.method)] ?? []
    const isShown = Object.entries(params).every(
      ([name, value]) => shown.includes(name) && (name === 'scope' ? isStrings(value) : typeof value === 'string'),
    )
    if (!isShown) throw new NotTold('its params are not those that the document shows')
    if (typeof refreshToken === 'string')
      return { params: { grantType: String(grantType), refreshToken: reference(refreshToken) }, changes: [] }
    const words = wordsOf(isStrings(scope) ? scope : [])
    if (body.method === 'manager/auth') {
      const isRight = key === undefined || apiKeySecret === key.secret
      const changes = isRight ? [] : [changeBetween('param apiKeySecret', key.secret, String(apiKeySecret))]
      return { params: { ...grant(nameOfKey(key), words).params, grantType: String(grantType) }, changes }
    }
    if (body.method !== 'manager/createApiKey') return { params: {}, changes: [] }
    if (publicKey === undefined) return { params: { name: 'new-$unique', scope: words }, changes: [] }
    if (requirement.startsWith('keys/public-key')) throw new NotTold('its public key is not told')
    return { params: { name: 'new-$unique', scope: words, publicKey: '$new-own.publicKey' }, changes: [] }
  }

  return {
    creationOf: (key: string): readonly Step[] => creations.get(key) ?? [],
    ofTarget,

    /** The grant of a pair and its refreshes, up to the one that ended it. */
    line(pair: Pair): Step[] {
      const until = pair.generation + (pair.standing === 'dead' ? 1 : 0)
      const pairs = pairsOfLine(state, pair.line).filter(({ generation }) => generation <= until)
      if (pairs.some(({ generation }, at) => generation !== at) || !state.keys.has(pair.key))
        throw new NotTold('not all calls that made its pair were seen')
      return pairs.flatMap((one, at) => {
        const before = pairs[at - 1]
        if (before === undefined) return [granting(one)]
        return [...untilEnd(before, one.made.from), refresh(nameOfPair(before), { as: nameOfPair(one) })]
      })
    },

    newerSessions(pair: Pair): CallStep[] {
      return state.pairs
        .values()
        .filter(
          ({ generation, key, countOfKey }) => generation === 0 && key === pair.key && countOfKey > pair.countOfKey,
        )
        .filter((other) => memberOf(state, other).name !== null)
        .map(granting)
    },

    call(caseCall: CaseCall, mistake: string | undefined): CallStep {
      const { body, params } = readCall(state, caseCall.call)
      const { jsonrpc: _jsonrpc, id: _id, method, params: _params, ...others } = body.members ?? {}
      const isPlain = params !== undefined && Object.keys(others).length === 0 && !body.isOdd
      if (typeof method !== 'string' || !isPlain) throw new NotTold('its body is not one that the document shows')
      const asWritten = JSON.stringify({ jsonrpc: '2.0', id: body.id, method, params })
      if (requirement.startsWith('envelope/') && (asWritten !== caseCall.call.body || !Number.isInteger(body.id)))
        throw new NotTold('its body is written in another way')
      const { auth, changes } = authOf(caseCall, mistake)
      const sent = paramsOf(caseCall)
      const all = [...changes, ...sent.changes]
      return all.length === 0 ? anyCall(method, sent.params, auth) : changed(anyCall(method, sent.params, auth), ...all)
    },
  }
}

/** 20 bytes in BASE64. */
const lengthOfHmac = 28

const paramsOfMethod: { readonly [method: string]: readonly string[] } = {
  'manager/auth': ['grantType', 'apiKeyId', 'apiKeySecret', 'scope', 'refreshToken'],
  'manager/createApiKey': ['name', 'scope', 'publicKey'],
}

/** The operation of the language that makes one text of the other. */
function changeBetween(field: string, right: string, sent: string): Change {
  const operations = readDeviations()
  const isIt = (name: string): boolean => changeText(right, operations.text(name)) === sent
  const operation = right === '' ? undefined : operations.wordsOf('text').find(isIt)
  // Another wrong secret is as wrong; what was sent may be the secret of somebody.
  return { field, operation: operation ?? 'inside-changed' }
}
