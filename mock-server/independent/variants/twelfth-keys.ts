import { randomBytes } from 'node:crypto'
import type { ServerContext } from '../../context.ts'
import { makeKey } from '../../create-context.ts'
import type { MockRequest } from '../../http-server.ts'
import type { Profile } from '../../profile.ts'
import { rules as referenceRules } from '../../rules.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, paramsOf } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'
import { errorAnswer, errorCode, waitAnswer } from './eleventh-limits.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

/**
 * A param of a creation can have a value once in the life of the server.
 *
 * @param storedAs How a value is written; two values that are written alike count as one. Undefined: it is not looked at.
 */
function takeOnce(param: string, storedAs: (value: unknown, profile: Profile) => string | undefined): Parts {
  const seen = watch(() => new Set<string>())
  const note = answerThrough((answer, request, { profile }) => {
    const stored = storedAs(paramsOf(request)[param], profile)
    const isMade = isMethod(request, 'manager/createApiKey') && isAccepted(answer)
    if (isMade && stored !== undefined) seen.memory.add(stored)
    return answer
  })
  return {
    around: chain(note, seen.around),
    rules: {
      paramTaken(method, name, value, valid) {
        if (!valid || method !== 'manager/createApiKey' || name !== param) return valid
        return !seen.memory.has(storedAs(value, seen.context.profile) ?? '')
      },
    },
  }
}

/** The bytes of a public key, whatever its PEM looks like. */
const bytesOfPem = (pem: unknown, profile: Profile): string | undefined =>
  referenceRules.publicKey(pem, profile)?.export({ type: 'spki', format: 'der' }).toString('hex')

/** Another client has a key, which it deletes `afterMs` after the first call. */
function lendPlaceToOthers(afterMs: number): Around {
  const others = createMemory((context) => {
    const fresh = () => randomBytes(16).toString('hex')
    const createdMs = context.now()
    const key = makeKey({ id: fresh(), secret: fresh(), name: 'nightly report', scope: ['solution'], createdMs })
    context.state.keys.set(key.id, key)
    return key
  })
  return (handle, context) => (request) => {
    const key = others(context)
    if (context.now() >= key.createdMs + afterMs) key.deleted = true
    return handle(request)
  }
}

/** The nodes of a server learn at once what a key may no longer do, and `laterMs` later that it may do something. */
function tellNodesLater(laterMs: number): Around {
  const ready = createMemory(() => new Map<string, number>())
  const readyMs = (context: ServerContext, id: string): number => {
    const key = context.state.keys.get(id)
    if (key === undefined || key.initial) return 0
    return ready(context).get(id) ?? key.createdMs + laterMs
  }
  return (handle, context) => (request) => {
    const leftMs = readyMs(context, namedKeyId(request) ?? '') - context.now()
    if (leftMs > 0) return waitAnswer(503, leftMs)
    const changed = isMethod(request, 'manager/updateApiKey') ? String(paramsOf(request).id) : ''
    const isDisabled = context.state.keys.get(changed)?.enabled === false
    const answer = handle(request)
    if (isDisabled && context.state.keys.get(changed)?.enabled) ready(context).set(changed, context.now() + laterMs)
    return answer
  }
}

/** Each creation makes the next one wait `stepMs` longer, up to `mostMs`. */
function slowCreations(stepMs: number, mostMs: number): Around {
  const creations = createMemory(() => ({ made: 0, lastMs: Number.NEGATIVE_INFINITY }))
  return (handle, context) => {
    const noted = answerThrough((answer) => {
      const memory = creations(context)
      if (isAccepted(answer)) Object.assign(memory, { made: memory.made + 1, lastMs: context.now() })
      return answer
    })(handle, context)
    return (request) => {
      if (!isMethod(request, 'manager/createApiKey')) return handle(request)
      const { made, lastMs } = creations(context)
      const leftMs = lastMs + Math.min(made * stepMs, mostMs) - context.now()
      return leftMs > 0 ? waitAnswer(429, leftMs) : noted(request)
    }
  }
}

/** What became of the key that a refused call names. */
function fateOf({ state }: ServerContext, request: MockRequest): [number, number, string] | undefined {
  const id = namedKeyId(request)
  if (id === undefined) return undefined
  const key = state.keys.get(id)
  if (key === undefined) return [404, 4040, 'There has never been such a key']
  if (key.deleted) return [410, 4100, `The key ${key.name} was here once`]
  return key.enabled ? undefined : [423, 4230, `The key ${key.name} rests`]
}

const tellFates: Around = answerThrough((answer, request, context) => {
  if (![24879, 24875].includes(Number(errorCode(answer)))) return answer
  const fate = fateOf(context, request)
  return fate === undefined ? answer : errorAnswer(request, ...fate)
})

/** Parts 1, 2, 4.1, 7 and 8: what a server remembers of keys, and the keys of others. */
export const twelfthKeyVariants: IndependentVariant[] = [
  // Part 2 calls the name the "Label of the key". It shows neither which names are taken nor what a deletion leaves behind.
  {
    id: 'names-of-deleted-keys-are-never-free-again',
    questions: ['keys/name-rules', 'keys/states'],
    about: 'Deleting a key archives its record, and the name of a record, in any letter case, is refused for ever.',
    create: () => takeOnce('name', (name) => (typeof name === 'string' ? name.toLowerCase() : undefined)),
  },
  // Part 2 does not show whether two keys may have one public key, nor what a deletion leaves behind.
  {
    id: 'public-keys-are-registered-once-for-ever',
    questions: ['keys/public-key-repeated', 'keys/states'],
    about: 'A public key, in whatever spelling of its PEM, is refused if any key has had it, a deleted one as well.',
    create: () => takeOnce('publicKey', bytesOfPem),
  },
  // Part 8: "at most 10". Part 1 tells of one initial key of "a freshly installed instance", and this instance is in use.
  {
    id: 'another-client-gives-its-place-back-after-twenty-seconds',
    questions: ['keys/limit-counts-initial', 'keys/limit-frees', 'keys/limit-exceeded'],
    about: 'There are nine places at first, as if the initial key took one, and a tenth one comes free by itself.',
    create: () => ({ around: lendPlaceToOthers(20_000) }),
  },
  // Part 3: "Transitions between API key states: not shown." The key is not refused; its caller is asked to come again.
  {
    id: 'nodes-hear-of-new-and-enabled-keys-half-a-second-later',
    questions: ['limits/rate', 'keys/states', 'errors/http-status'],
    about: 'A key that was created or enabled gets 503 for 500 ms; one that was disabled or deleted stops at once.',
    create: () => ({ around: tellNodesLater(500) }),
  },
  // Part 8: "Rate limits and request size limits: not shown." The ten places are there, for those who take their time.
  {
    id: 'each-creation-makes-the-next-one-wait-longer',
    questions: ['limits/rate', 'keys/limit-counts-initial'],
    about: 'A creation waits 100 ms for each one before it, at most a second, deleted keys included; else it gets 429.',
    profile: { initialKeyCounts: true },
    create: () => ({ around: slowCreations(100, 1000) }),
  },
  // Part 7: "error codes, HTTP status codes, and the outcome of a rejected signature, credential [...]: not shown."
  {
    id: 'refusals-tell-what-became-of-the-named-key',
    questions: ['errors/outcomes', 'errors/http-status', 'errors/codes'],
    about: 'A key that was deleted gets 410, a disabled one 423, and one that never was 404, whatever the secret.',
    create: () => ({ around: tellFates }),
  },
]
