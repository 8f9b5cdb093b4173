/** Describes steps in words. */
import type { Answer, Verdict } from '../engine/model/index.ts'
import type { CallStep, Change } from './step.ts'

export function contradiction(step: CallStep, verdict: Verdict, answer: Answer): string {
  const what = describeStep(step)
  if (verdict.is === 'refused') return `${what} was accepted`
  return `${what} was ${answer.kind === 'broken' ? `not answered (${answer.reason})` : 'refused'}`
}

/** Describes a step in words. */
export function describeStep({ method, auth, change, from, params, form, nonce }: CallStep): string {
  const isRefresh = params.grantType === 'refresh_token'
  const what = method !== 'manager/auth' ? `A call of ${method}` : isRefresh ? 'A refresh' : 'A grant'
  const where = from === undefined ? '' : ` from the ${from.replace('-', ' ')}`
  const changes = change === undefined ? '' : ` ${describeChange(change)}`
  return `${what}${howOf(method, auth)}${where}${describeBody(form)}${describeNonce(nonce)}${changes}`
}

function describeBody(form: CallStep['form']): string {
  if (form === undefined) return ''
  return typeof form === 'number' ? ` and a body of ${form} bytes` : ` and its body written otherwise (${form})`
}

const nonces = {
  digits: ' and a nonce of digits',
  padded: ' and a padded nonce',
  letters: ' and a nonce of letters',
  marks: ' and a nonce that ends in "////++++"',
  'leading-zero': ' and a MAC whose first byte is zero',
  'trailing-zero': ' and a MAC whose last byte is zero',
}

const describeNonce = (nonce: CallStep['nonce']): string => (nonce === undefined ? '' : nonces[nonce])

function howOf(method: string, auth: CallStep['auth']): string {
  switch (auth.kind) {
    case 'none':
      return method === 'manager/auth' ? '' : ' without authorization'
    case 'token':
      return auth.token.endsWith('.refreshToken') ? ' with a refresh token' : ' with an access token'
    case 'header':
      return auth.header.startsWith('$') ? ' with the header of another call' : ` with the header "${auth.header}"`
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
