import { initialCaller } from './caller.ts'
import type { ServerContext } from './context.ts'
import type { MockHandler } from './handler.ts'
import { createApiKey } from './methods/api-keys.ts'
import { tokenResult } from './methods/auth.ts'
import { demandWord } from './profile.ts'
import type { Outcome } from './refusal.ts'
import type { TokenResult } from './rules.ts'
import type { ApiKey, TokenPair } from './state.ts'
import { issuePair, openSession } from './token-state.ts'

/** What tests can do to a server without a call. */
export interface Operator {
  /** Creates a key without a call; it takes one of the ten places. Rejects with a RangeError if no place is left. */
  makeKey(params?: { name?: string; scope?: string[]; publicKey?: string }): Promise<SceneKey>
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
    scene: (name) => playScene(context, name),
  }
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

export const sceneNames = [
  'nine-keys',
  'fifteen-sessions',
  'token-about-to-expire',
  'revoked-pair',
  'disabled-key',
] as const
export type SceneName = (typeof sceneNames)[number]

/**
 * Brings a server to a state in one go and returns the keys and tokens in play. Made for a server just started or reset:
 * - nine-keys: nine of the ten keys are created; one more succeeds, the next is refused
 * - fifteen-sessions: the root key has 15 sessions; the 17th grant from here removes the first of them
 * - token-about-to-expire: the access token ends in one second
 * - revoked-pair: two pairs; the first was refreshed, so only the second works
 * - disabled-key: a key that was disabled, and tokens that it took before
 */
export async function playScene(context: ServerContext, scene: SceneName): Promise<Scene> {
  demandWord('the scene', scene, sceneNames)
  const { root } = context
  switch (scene) {
    case 'nine-keys': {
      const keys: SceneKey[] = []
      while (keys.length < 9) keys.push(shown(await makeSceneKey(context)))
      return { keys, tokens: [] }
    }
    case 'fifteen-sessions': {
      const tokens = Array.from({ length: 15 }, (_, index) =>
        tokenResult(context, takePair(context, root, `session-${index + 1}`)),
      )
      return { keys: [], tokens }
    }
    case 'token-about-to-expire': {
      const pair = takePair(context, root)
      pair.accessExpiryMs = context.now() + 1000
      return { keys: [], tokens: [tokenResult(context, pair)] }
    }
    case 'revoked-pair': {
      const old = takePair(context, root)
      old.accessRevoked = true
      old.refreshRevoked = true
      old.revokedMs = context.now()
      const renewed = issuePair(context, { ...old, old })
      return { keys: [], tokens: [tokenResult(context, old), tokenResult(context, renewed)] }
    }
    case 'disabled-key': {
      const key = await makeSceneKey(context)
      const tokens = tokenResult(context, takePair(context, key))
      key.enabled = false
      return { keys: [shown(key)], tokens: [tokens] }
    }
  }
}

/** Creates a key as the operator: it needs no call, but it takes one of the places. Throws if no place is left. */
async function makeSceneKey(
  context: ServerContext,
  params: { name?: string; scope?: string[]; publicKey?: string } = {},
): Promise<ApiKey> {
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
