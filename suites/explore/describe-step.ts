/** Describes steps in words. */
import type { Answer, Verdict } from '../engine/model/state.ts'
import type { CallStep, Change } from './step.ts'

export function contradiction(step: CallStep, verdict: Verdict, answer: Answer): string {
  const what = describeStep(step)
  if (verdict.is === 'refused') return `${what} was accepted`
  if (answer.kind === 'broken') return `${what} was not answered (${answer.reason})`
  // An instance that an earlier run has used refuses it, too.
  const premise =
    verdict.requirement === 'limits/ten-can-be-made' ? ', although the instance is fresh, as --disposable says' : ''
  return `${what} was refused${premise}`
}

/** Describes a step in words, without the names of pairs. */
export const describeStep = (step: CallStep): string => describe(step, false)

/** Describes a step of a sequence, in which pairs have names. */
export const describeNamedStep = (step: CallStep): string => describe(step, true)

function describe(
  { method, auth, change, also = [], from, params, form, nonce, inChunks }: CallStep,
  isNamed: boolean,
): string {
  const isRefresh = params.grantType === 'refresh_token'
  const refreshed = isNamed ? pairIn(params.refreshToken) : undefined
  const what =
    method !== 'manager/auth'
      ? `A call of ${method}`
      : isRefresh
        ? `A refresh${refreshed === undefined ? '' : ` of ${refreshed}`}`
        : describeGrant(params)
  const where = from === undefined ? '' : ` from the ${from.replace('-', ' ')}`
  const changes = [...(change === undefined ? [] : [change]), ...also]
    .map((one) => ` ${describeChange(one)}`)
    .join(' and')
  const chunks = inChunks === true ? ' and its body in chunks' : ''
  return `${what}${howOf(method, auth, isNamed)}${describeParams(method, params)}${where}${describeBody(form)}${chunks}${describeNonce(nonce)}${changes}`
}

/** Whose grant it is, and for what: what a token may do follows from it. */
function describeGrant({ apiKeyId, scope }: CallStep['params']): string {
  const [, who] = /^\$([\w-]+)\.id$/.exec(String(apiKeyId)) ?? []
  const words = isTexts(scope) ? ` for the scope "${scope.join(' ').slice(0, mostOfScope)}"` : ''
  return `A grant${who === undefined ? '' : ` to ${who}`}${words}`
}

/** Params that the document does not show. */
function describeParams(method: string, params: CallStep['params']): string {
  if (method !== 'solution/listSolutions' || Object.keys(params).length === 0) return ''
  return ` with the params ${JSON.stringify(params).slice(0, mostOfScope)}`
}

const mostOfScope = 120
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Of the forms `cut-letters-…`. */
export const cutLetters = 'a body of 69 kB in 3-byte letters, some of which lie across the border of two reads'

function describeBody(form: CallStep['form']): string {
  if (form === undefined) return ''
  if (typeof form === 'number') return ` and a body of ${form} bytes`
  if (form.startsWith('cut-letters')) return ` and ${cutLetters}`
  return ` and its body written otherwise (${form})`
}

const nonces = {
  digits: ' and a nonce of digits',
  padded: ' and a padded nonce',
  letters: ' and a nonce of letters',
  marks: ' and a nonce that ends in "////++++"',
  'leading-zero': ' and a signature whose most significant byte is zero',
  'trailing-zero': ' and a signature whose least significant byte is zero',
}

const describeNonce = (nonce: CallStep['nonce']): string => (nonce === undefined ? '' : nonces[nonce])

/** `$pair.accessToken` belongs to `pair`. */
const pairIn = (text: unknown): string | undefined => /^\$([\w-]+)\.(?:access|refresh)Token$/.exec(String(text))?.[1]

function howOf(method: string, auth: CallStep['auth'], isNamed: boolean): string {
  switch (auth.kind) {
    case 'none':
      return method === 'manager/auth' ? '' : ' without authorization'
    case 'token': {
      const pair = isNamed ? pairIn(auth.token) : undefined
      const kind = auth.token.endsWith('.refreshToken') ? 'refresh token' : 'access token'
      return pair === undefined
        ? ` with ${kind === 'access token' ? 'an' : 'a'} ${kind}`
        : ` with the ${kind} of ${pair}`
    }
    case 'header':
      return auth.header.startsWith('$')
        ? ' with the header of an earlier call, which signs another body'
        : ` with the header "${auth.header}"`
    case 'basic':
      return ` with Basic credentials of ${auth.who}`
    default:
      return ` with ${auth.kind === 'hmac' ? 'an HMAC' : 'an ED25519 signature'} of ${auth.who}`
  }
}

function describeChange({ field, operation, place, value, remove, wrap }: Change): string {
  const part = field.replace(/^(param|member) /, '')
  if (field === 'mistake') return `with the mistake ${operation}`
  if (remove === true) return `without ${part}`
  if (place !== undefined) return `with ${place.slice(1)} as its ${part}`
  if (value !== undefined) return `with ${JSON.stringify(value)} as its ${part}`
  return `with its ${part} changed (${wrap ?? operation})`
}

/** Why the answers to calls cannot be right. @param calls how many calls have no order that the document allows */
export function notAllowed(calls: number): string {
  return calls === 1 ? 'the document does not allow it' : 'the document allows it in no order of the calls at once'
}
