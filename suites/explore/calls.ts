/** Steps that scripts are made of. */
import type { Auth, CallStep, Change, Connection, Step } from './step.ts'

const listMethod = 'solution/listSolutions'
const createMethod = 'manager/createApiKey'
const authMethod = 'manager/auth'

type More = Partial<Pick<CallStep, 'as' | 'from' | 'form' | 'change' | 'id' | 'nonce' | 'inChunks' | 'also'>> & {
  connection?: Connection
}

export const none: Auth = { kind: 'none' }
export const basic = (who: string): Auth => ({ kind: 'basic', who })
export const hmac = (who: string): Auth => ({ kind: 'hmac', who })
export const ecc = (who: string): Auth => ({ kind: 'ecc', who })
/** The access token of a pair. */
export const token = (pair: string): Auth => ({ kind: 'token', token: `$${pair}.accessToken` })

export const list = (auth: Auth, more: More = {}): CallStep => ({
  do: 'call',
  method: listMethod,
  params: {},
  auth,
  ...more,
})

/** The grant api_key_credentials. */
export function grant(who: string, scope: readonly string[], more: More = {}): CallStep {
  const params = { grantType: 'api_key_credentials', apiKeyId: `$${who}.id`, apiKeySecret: `$${who}.secret`, scope }
  return { do: 'call', method: authMethod, params: inSomeOrder(params), auth: none, ...more }
}

/** The grant refresh_token. */
export function refresh(pair: string, more: More = {}): CallStep {
  const params = { grantType: 'refresh_token', refreshToken: `$${pair}.refreshToken` }
  return { do: 'call', method: authMethod, params, auth: none, ...more }
}

export function create(auth: Auth, params: Params, more: More = {}): CallStep {
  return { do: 'call', method: createMethod, params: inSomeOrder(params), auth, ...more }
}

type Params = CallStep['params']

/**
 * The order of params has no meaning. It follows from the params, so that a repeated step sends them in the same order. A public key comes
 * first, because the cases send it last.
 */
function inSomeOrder(params: Params): Params {
  const { publicKey, ...others } = params
  const entries = Object.entries(others)
  const first = JSON.stringify(params).length % Math.max(1, entries.length)
  const rest = Object.fromEntries([...entries.slice(first), ...entries.slice(0, first)])
  return publicKey === undefined ? rest : { publicKey, ...rest }
}

const orderOfDocument = ['grantType', 'apiKeyId', 'apiKeySecret', 'refreshToken', 'name', 'scope', 'publicKey']

/** The same step with the params of its calls in the order in which the document lists them. */
export function inDocumentOrder<One extends Step>(step: One): One {
  if (step.do === 'burst') return { ...step, calls: step.calls.map(inDocumentOrder) }
  if (step.do === 'wait') return step
  const place = ([name]: readonly [string, unknown]): number => orderOfDocument.indexOf(name)
  const params = Object.fromEntries(Object.entries(step.params).sort((a, b) => place(a) - place(b)))
  return { ...step, params }
}

export const changed = (step: CallStep, change: Change): CallStep => ({ ...step, change })
