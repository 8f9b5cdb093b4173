import { type Outcome, refuse, succeed } from '../refusal.ts'
import type { ApiKey } from '../state.ts'
import { asText, type Call, flag, type Method, optional, type Result, text } from './method.ts'

const keyId = { id: text(1, 128) }

/** Beyond the document: reading, disabling and deleting API keys. A key's scope stays as created. */
export const apiKeyMethods: Method[] = [
  {
    name: 'manager/listApiKeys',
    area: 'manager',
    params: {},
    run: ({ context }) => succeed({ list: [...context.state.keys.values()].filter((key) => !key.deleted).map(record) }),
  },
  {
    name: 'manager/getApiKey',
    area: 'manager',
    params: keyId,
    run: (call) => withKey(call, (key) => succeed({ apiKey: record(key) })),
  },
  {
    name: 'manager/updateApiKey',
    area: 'manager',
    params: { ...keyId, name: optional(text(1, 128)), enabled: optional(flag) },
    run: (call) =>
      withKey(call, (key) => {
        const { name, enabled } = call.params
        if (enabled === false && key === call.caller?.key) return refuse('denied', 'key/in-use')
        if (name !== undefined) key.name = asText(name)
        if (enabled !== undefined) key.enabled = enabled === true
        return succeed('OK')
      }),
  },
  {
    name: 'manager/deleteApiKey',
    area: 'manager',
    params: keyId,
    run: (call) =>
      withKey(call, (key) => {
        if (key === call.caller?.key) return refuse('denied', 'key/in-use')
        key.deleted = true
        return succeed('OK')
      }),
  },
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
