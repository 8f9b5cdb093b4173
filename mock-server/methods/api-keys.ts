import { aFlag, optional } from '../checks.ts'
import type { ServerContext } from '../context.ts'
import { makeKey } from '../create-context.ts'
import type { Profile } from '../profile.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import { knownScope } from '../scopes.ts'
import { type ApiKey, makeRoom, type State } from '../state.ts'
import {
  anything,
  asList,
  asText,
  type Call,
  carryOut,
  type Method,
  method,
  type Result,
  text,
  textList,
} from './method.ts'

/** Part 4.1. */
export const createApiKey = method(
  'manager/createApiKey',
  { name: text(1, 128), scope: textList, publicKey: anything },
  (call) => {
    const { rules, profile, state } = call.context
    const scope = asList(call.params.scope)
    const refused = scope.find((word) => !mayStandInKey(word, profile))
    if (refused !== undefined) return refuse('params', 'params/scope')
    const creator = call.caller?.scopes ?? []
    if (
      profile.keyScopeAboveCreator === 'refused' &&
      scope.some((word) => !creator.includes(knownScope(word, profile) ?? word))
    ) {
      return refuse('scope', 'scope/creator')
    }
    const { publicKey } = call.params
    if (publicKey !== undefined && !rules.publicKey(publicKey, profile) && !rules.badPublicKeyTaken(publicKey)) {
      return refuse('params', 'params/publicKey')
    }
    if (profile.repeatedPublicKeys === 'refused' && isInUse(publicKey, state))
      return refuse('params', 'params/publicKey')

    const counted = rules.keysCounted([...state.keys.values()], profile)
    const beyond = counted >= rules.keyLimit(call.caller?.means) ? rules.beyondKeyLimit(profile) : 'created'
    if (beyond === 'refused') {
      remove(rules.keysLostToRefusal([...state.keys.values()]))
      return refuse('keyLimit', 'key/limit')
    }
    return carryOut(call.context, 'key', () => create(call, scope, beyond))
  },
)

function create({ context, params }: Call, scope: string[], beyond: 'oldest-removed' | 'created'): Outcome<object> {
  const { rules, profile, state, bounds } = context
  const key = makeKey({
    id: rules.keyId(context.random(16).toString('hex')),
    secret: rules.keySecret(context.random(16).toString('hex')),
    name: asText(params.name),
    scope,
    createdMs: context.now(),
  })
  if (params.publicKey !== undefined) {
    key.publicKey = asText(params.publicKey)
    const verifyKey = rules.publicKey(params.publicKey, profile)
    if (verifyKey) key.verifyKey = verifyKey
  }
  if (beyond === 'oldest-removed') {
    remove([...state.keys.values()].filter((old) => !old.initial && !old.deleted).slice(0, 1))
  }
  remove(rules.keysLostToNewKey([...state.keys.values()], key))
  forgetDeleted(context, bounds.keys)
  state.keys.set(key.id, rules.storedKey(key))
  return succeed(rules.createKeyResult({ id: key.id, secret: key.secret }))
}

/** The scope words of the document's examples. */
const shown = ['apikey', 'apiKey', 'context', 'solution']

function mayStandInKey(word: string, profile: Profile): boolean {
  if (word.startsWith('expiresIn:')) return false
  if (profile.unknownKeyScopes === 'all-but-shown-refused') return shown.includes(word)
  return (
    profile.unknownKeyScopes === 'kept' || knownScope(word, profile) !== undefined || /^(session|ipAddr):/.test(word)
  )
}

function isInUse(publicKey: unknown, { keys }: State): boolean {
  return publicKey !== undefined && [...keys.values()].some((key) => !key.deleted && key.publicKey === publicKey)
}

function remove(keys: ApiKey[]): void {
  for (const key of keys) key.deleted = true
}

/** Deleted keys stay as records until the bound; live ones are never dropped. */
function forgetDeleted({ state }: ServerContext, bound: number): void {
  if (state.keys.size < bound) return
  const deleted = new Map([...state.keys].filter(([, key]) => key.deleted))
  const kept = deleted.size
  state.forgotten.keys += makeRoom(deleted, Math.max(kept - (state.keys.size - bound), 1))
  for (const [id, key] of state.keys) if (key.deleted && !deleted.has(id)) state.keys.delete(id)
}

const keyId = { id: text(1, 128) }

/** Beyond the document: reading, disabling and deleting API keys. A key's scope stays as created. */
export const apiKeyMethods: Method[] = [
  method('manager/listApiKeys', {}, ({ context }) =>
    succeed({ list: [...context.state.keys.values()].filter((key) => !key.deleted).map(record) }),
  ),
  method('manager/getApiKey', keyId, (call) => withKey(call, (key) => succeed({ apiKey: record(key) }))),
  method('manager/updateApiKey', { ...keyId, name: optional(text(1, 128)), enabled: optional(aFlag) }, (call) =>
    withKey(call, (key) => {
      const { name, enabled } = call.params
      if (enabled === false && key === call.caller?.key) return refuse('denied', 'key/in-use')
      if (name !== undefined) key.name = asText(name)
      if (enabled !== undefined) key.enabled = enabled === true
      return succeed('OK')
    }),
  ),
  method('manager/deleteApiKey', keyId, (call) =>
    withKey(call, (key) => {
      if (key === call.caller?.key) return refuse('denied', 'key/in-use')
      key.deleted = true
      return succeed('OK')
    }),
  ),
]

function withKey(call: Call, use: (key: ApiKey) => Outcome<Result>): Outcome<Result> {
  const key = call.context.state.keys.get(asText(call.params.id))
  return key === undefined || key.deleted ? refuse('unknownKey', 'params/id') : use(key)
}

function record(key: ApiKey): object {
  return {
    id: key.id,
    created: key.createdMs,
    enabled: key.enabled,
    name: key.name,
    scope: key.scope,
    ...(key.publicKey === undefined ? {} : { publicKey: key.publicKey }),
  }
}
