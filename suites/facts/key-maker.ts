/** Creates API keys for measurements: every key is recorded before its creation, and removed again if the target file names a method. */
import type { CreatedKeys } from '../engine/conversation/conversation.ts'
import { keyLimit } from '../engine/document.ts'
import { membersOf } from '../engine/json.ts'
import { resolve } from '../engine/language/resolve.ts'
import { shortName } from '../engine/signer/random.ts'
import { type Authorize, type Caller, type Reply, signed } from './caller.ts'

/** The scope of an ordinary key. */
export const ordinaryScope = ['apikey', 'solution']

/** The name of a key of this measurement: of at most twelve characters, as a server may take no longer one. */
export const nameOf = ({ unique }: Caller, what: string): string =>
  `${what.slice(0, 7).replace(/-$/, '')}-${shortName(`${unique}-${what}`, 4)}`

/** The scope word of a session of this measurement. */
export const sessionWord = ({ unique }: Caller, what: string): string => `session:${shortName(`${unique}-${what}`)}`

interface MadeKey {
  id: string
  name: string
  /** null where the result has none. */
  secret: string | null
}

export interface Creation {
  reply: Reply
  /** null: refused, or an answer that names no key. */
  key: MadeKey | null
}

interface KeyParams {
  name: string
  /** A list of words, unless a refusal is wanted. */
  scope: unknown
  publicKey?: string
}

export interface KeyMaker {
  /** The known keys of this and earlier measurements; there may be others. */
  readonly created: CreatedKeys
  /** How many of the ten places may be free. */
  placesLeft(): number
  /** Refusals since a key was created: they say nothing as long as the ten places may be taken. */
  refusalsInDoubt(): number
  /** Creations that were refused or removed before the last key was created: a target may count them all the same. */
  countedBeforeLast(): number
  create(params: KeyParams, auth?: Authorize): Promise<Creation>
  /** Removes the keys of this measurement where the target declares how. @returns whether it does */
  removeAll(): Promise<boolean>
}

/** @param created the record of created keys; existing entries take places */
export function createKeyMaker(caller: Caller, created: CreatedKeys): KeyMaker {
  const { cleanup } = caller.instance.settings
  const mine: MadeKey[] = []
  let inDoubt = 0
  let countedBeforeLast = 0
  return {
    created,
    placesLeft: () => keyLimit - created.keys.length - created.unanswered.length,
    refusalsInDoubt: () => inDoubt,
    countedBeforeLast: () => countedBeforeLast,
    async create(params, auth = signed(caller)) {
      caller.demandToGoOn()
      const { name } = params
      created.intend(name)
      const reply = await caller.call({ method: 'manager/createApiKey', params, auth })
      const key = keyIn(reply, name)
      if (key !== null) {
        inDoubt = 0
        countedBeforeLast = created.perhapsCounted
        if (key.secret !== null) caller.redactor.add(key.secret)
        created.created({ id: key.id, name, ...(key.secret === null ? {} : { secret: key.secret }) })
        mine.push(key)
      } else if (reply.outcome === 'refused' || reply.outcome === 'throttled') {
        inDoubt += 1
        created.notCreated(name)
      }
      return { reply, key }
    },
    async removeAll() {
      if (cleanup === undefined) return false
      for (const { id, name } of mine.splice(0)) {
        const params = resolve(cleanup.params, { id, name })
        const { outcome } = await caller.call({ method: cleanup.method, params, auth: signed(caller) })
        if (outcome === 'accepted') created.removed(id)
      }
      return true
    },
  }
}

function keyIn({ outcome, result }: Reply, name: string): MadeKey | null {
  const { id, secret } = membersOf(result)
  return outcome === 'accepted' && typeof id === 'string'
    ? { id, name, secret: typeof secret === 'string' ? secret : null }
    : null
}
