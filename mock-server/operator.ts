import { initialCaller } from './caller.ts'
import { demandWord } from './checks.ts'
import type { ServerContext } from './context.ts'
import type { MockHandler } from './handler.ts'
import { createApiKey } from './methods/api-keys.ts'
import { tokenResult } from './methods/auth.ts'
import type { Outcome } from './refusal.ts'
import type { TokenResult } from './rules.ts'
import type { ApiKey, TokenPair } from './state.ts'
import { endPair, issuePair, openSession } from './token-state.ts'

/** What tests can do to a server without a call. */
export interface Operator {
  /** Creates a key without a call; it takes one of the ten places. Rejects with a RangeError if no place is left. */
  makeKey(params?: SceneKeyParams): Promise<SceneKey>
  /** Disables a key, or enables it again; false when there is no such key. */
  enableKey(id: string, enabled: boolean): boolean
  /** Deletes a key; false when there is no such key. */
  deleteKey(id: string): boolean
  /** Lets one token of a pair expire `inMs` from now: 0 (default) at once, 1000 in a second. False if there is no such token. */
  expireToken(token: string, inMs?: number): boolean
  scene(name: SceneName): Promise<Scene>
}

/** Changes the state of a server directly, without calls. */
export function createOperator({ context }: MockHandler): Operator {
  const liveKey = (id: string) => {
    const key = context.state.keys.get(id)
    return key?.deleted ? undefined : key
  }
  return {
    async makeKey(params) {
      const { id, secret } = await makeSceneKey(context, params)
      return { id, secret }
    },
    enableKey(id, enabled) {
      const key = liveKey(id)
      if (key) key.enabled = enabled
      return key !== undefined
    },
    deleteKey(id) {
      const key = liveKey(id)
      if (key) key.deleted = true
      return key !== undefined
    },
    expireToken(text, inMs = 0) {
      const token = context.state.tokens.get(text)
      if (!token) return false
      const endMs = context.now() + inMs
      if (token.kind === 'access') token.pair.accessExpiryMs = endMs
      else token.pair.refreshExpiryMs = endMs
      return true
    },
    async scene(name) {
      demandWord('the scene', name, sceneNames)
      return scenes[name](context)
    },
  }
}

export interface SceneKeyParams {
  name?: string
  scope?: string[]
  publicKey?: string
}

export interface SceneKey {
  id: string
  secret: string
}

/** The result of the grant that issued them. */
export type SceneTokens = TokenResult

export interface Scene {
  keys: SceneKey[]
  tokens: SceneTokens[]
}

/** Scenes bring a server to a state in one go and return the keys and tokens in play. Made for a server just started or reset. */
const scenes = {
  /** Nine of the ten keys are created; one more succeeds, the next is refused. */
  async 'nine-keys'(context) {
    const keys: SceneKey[] = []
    while (keys.length < 9) keys.push(shown(await makeSceneKey(context)))
    return { keys, tokens: [] }
  },
  /** The root key has 15 sessions; the 17th grant from here removes the first of them. */
  'fifteen-sessions': (context) => {
    const names = Array.from({ length: 15 }, (_, index) => `session-${index + 1}`)
    return { keys: [], tokens: names.map((name) => tokenResult(context, takePair(context, context.root, name))) }
  },
  /** The access token ends in one second. */
  'token-about-to-expire': (context) => {
    const pair = takePair(context, context.root)
    pair.accessExpiryMs = context.now() + 1000
    return { keys: [], tokens: [tokenResult(context, pair)] }
  },
  /** Two pairs; the first was refreshed, so only the second works. */
  'revoked-pair': (context) => {
    const old = takePair(context, context.root)
    endPair(old)
    old.revokedMs = context.now()
    const renewed = issuePair(context, { ...old, old })
    return { keys: [], tokens: [tokenResult(context, old), tokenResult(context, renewed)] }
  },
  /** A key that was disabled, and tokens that it took before. */
  async 'disabled-key'(context) {
    const key = await makeSceneKey(context)
    const tokens = tokenResult(context, takePair(context, key))
    key.enabled = false
    return { keys: [shown(key)], tokens: [tokens] }
  },
} as const satisfies { readonly [name: string]: (context: ServerContext) => Scene | Promise<Scene> }

export type SceneName = keyof typeof scenes
export const sceneNames = Object.keys(scenes) as SceneName[]

/** Creates a key as the operator: it needs no call, but it takes one of the places. Throws if no place is left. */
async function makeSceneKey(context: ServerContext, params: SceneKeyParams = {}): Promise<ApiKey> {
  const call = {
    context,
    request: { method: 'POST', target: '/api', headers: {}, body: Buffer.alloc(0), remoteAddress: '127.0.0.1' },
    params: { name: 'made by the operator', scope: ['apiKey', 'solution', 'context'], ...params },
    caller: initialCaller(context),
  }
  const outcome: Outcome<unknown> = await createApiKey.run(call)
  const created = outcome.ok ? [...context.state.keys.values()].at(-1) : undefined
  if (!created) throw new RangeError(outcome.ok ? 'No key was created' : outcome.refusal.message)
  return created
}

function takePair(context: ServerContext, key: ApiKey, sessionName?: string): TokenPair {
  const opened = sessionName === undefined ? undefined : openSession(context, key, sessionName)
  const scope = ['solution']
  return issuePair(context, {
    key,
    scope,
    scopeEcho: scope,
    addresses: [],
    session: opened?.ok ? opened.value : undefined,
    expiresInMs: undefined,
  })
}

const shown = ({ id, secret }: ApiKey): SceneKey => ({ id, secret })
