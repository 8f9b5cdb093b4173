import type { MockHandler } from './handler.ts'
import { makeSceneKey, playScene, type Scene, type SceneKey, type SceneName } from './scenes.ts'

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
