import { callerAddress } from '../../caller.ts'
import { rules as referenceRules } from '../../rules.ts'
import { endPair, pairsOf } from '../../token-state.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'
import { errorAnswer } from './eleventh-limits.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

/** The addresses in a list of scopes. */
const addressesIn = (scope: string[]): string[] =>
  scope.filter((word) => word.startsWith('ipAddr:')).map((word) => word.slice('ipAddr:'.length))

/** A key whose scope has addresses works from there only, and so do its tokens. */
const enforceAddressesOfKeys: Around = (handle, context) => (request) => {
  const { scope = [] } = context.state.keys.get(namedKeyId(request) ?? '') ?? {}
  const bound = addressesIn(scope)
  if (bound.length === 0) return handle(request)
  if (!isMethod(request, 'manager/auth')) {
    if (bound.includes(callerAddress(context, request))) return handle(request)
    const { authorization: _, ...headers } = request.headers
    return handle({ ...request, headers })
  }
  const wanted = addressesIn(scopeOf(request))
  if (wanted.some((address) => !bound.includes(address))) {
    return errorAnswer(request, 200, 24878, 'Insufficient scope')
  }
  if (wanted.length > 0) return handle(request)
  const params = paramsOf(request)
  const list = [...scopeOf(request), ...bound.map((address) => `ipAddr:${address}`)]
  const members = readMembers(request.body.toString('utf8'))
  // A list of another type stays as it is, so that it is refused.
  if (!Array.isArray(params.scope) || params.scope.length !== scopeOf(request).length) return handle(request)
  return handle(withMembers(request, { ...members, params: { ...params, scope: list } }))
}

/** Disabling a key ends its tokens and sessions; enabling it does not bring them back. */
const endTokensOfDisabledKey: Around = answerThrough((answer, request, context) => {
  const { id, enabled } = paramsOf(request)
  if (!isMethod(request, 'manager/updateApiKey') || enabled !== false) return answer
  if (context.state.keys.get(String(id))?.enabled !== false) return answer
  for (const pair of pairsOf(context)) {
    if (pair.key.id !== id) continue
    endPair(pair)
    if (pair.session) pair.session.removed = true
  }
  return answer
})

/** The place of a deleted key is free `laterMs` after its deletion. The initial key takes a place. */
function freePlacesLater(laterMs: number): Parts {
  const seen = watch(() => new Map<string, number>())
  const note = answerThrough((answer, request) => {
    if (!isMethod(request, 'manager/deleteApiKey')) return answer
    const key = seen.context.state.keys.get(String(paramsOf(request).id))
    if (key?.deleted && !seen.memory.has(key.id)) seen.memory.set(key.id, seen.nowMs + laterMs)
    return answer
  })
  return {
    around: chain(note, seen.around),
    rules: {
      keysCounted: (all) => all.filter(({ deleted, id }) => !deleted || (seen.memory.get(id) ?? 0) > seen.nowMs).length,
    },
  }
}

/** While ten created keys are there, every creation is told so, whoever asks and whatever for. */
const tellFullListFirst: Around = (handle, context) => (request) => {
  const made = [...context.state.keys.values()].filter(({ deleted, initial }) => !deleted && !initial)
  if (made.length < 10 || !isMethod(request, 'manager/createApiKey')) return handle(request)
  return errorAnswer(request, 200, 24877, 'Api keys limit exceeded')
}

/** A created key has signed nothing before it was there; the clocks of callers may be two seconds behind. */
function refuseOlderThanKey(): Parts {
  const seen = watch()
  return {
    around: seen.around,
    rules: {
      timestampTaken: (timestamp, nowMs, profile) => {
        const key = seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
        const isTooOld = key !== undefined && !key.initial && Number(timestamp) < key.createdMs - 2000
        return !isTooOld && referenceRules.timestampTaken(timestamp, nowMs, profile)
      },
    },
  }
}

/** Remembers the last `most` nonces of accepted calls for each address. */
function rememberFewNonces(most: number): Parts {
  const seen = watch(() => new Map<string, string[]>())
  const noncesOf = (address: string): string[] => seen.memory.get(address) ?? []
  const note = answerThrough((answer, { headers, remoteAddress }) => {
    const nonce = headers.authorization?.split(';')[3]
    if (nonce !== undefined && isAccepted(answer)) {
      seen.memory.set(remoteAddress, [...noncesOf(remoteAddress), nonce].slice(-most))
    }
    return answer
  })
  return {
    around: chain(note, seen.around),
    rules: {
      nonceTaken: (nonce, profile) =>
        referenceRules.nonceTaken(nonce, profile) && !noncesOf(seen.request.remoteAddress).includes(nonce),
      usedNonceTaken: () => true,
    },
  }
}

/** Parts 2, 4.1, 5.1 and 8: keys, their restrictions and places, timestamps and nonces. */
export const eleventhKeyVariants: IndependentVariant[] = [
  // Part 4.1 calls id and secret strings, and part 5.3 shows no form of tokens. No sign of them is in the way of a header.
  {
    id: 'ids-secrets-and-tokens-look-like-variables-of-templates',
    questions: ['tokens/format', 'keys/create-result-extras'],
    about: 'Whoever fills templates with these texts, and then fills the result again, sends other texts.',
    profile: { extraResultMembers: true },
    create: () => ({
      rules: {
        keyId: (fresh) => `$root-\${id}-${fresh}`,
        keySecret: (fresh) => `\${secret}-{{secret}}-$secret-%s-$&-${fresh}`,
        tokenText: (kind, fresh) => (kind === 'access' ? `\${accessToken}.${fresh}` : `{{refreshToken}}.$1.${fresh}`),
      },
    }),
  },
  // Part 2 does not show what an address in the scope of a key means, and part 3 not from where a refresh may come.
  {
    id: 'addresses-in-the-scope-of-a-key-are-in-force',
    questions: ['keys/expires-in-scope', 'refresh/foreign-address'],
    about: 'A key made with ipAddr:ADDR works from there only, and so do its tokens and their refreshes.',
    profile: { refreshChecksAddress: true },
    create: () => ({ around: enforceAddressesOfKeys }),
  },
  // Part 3 does not show the transitions between the states of a key. Part 2 only says that a key can be disabled.
  {
    id: 'disabling-a-key-ends-its-tokens-and-sessions-for-good',
    questions: ['keys/states', 'sessions/own-end', 'sessions/reused-name'],
    about: 'A key that is enabled again begins without tokens and sessions; a session name can be there twice.',
    profile: { reusedSessionName: 'adds' },
    create: () => ({ around: endTokensOfDisabledKey }),
  },
  // Part 8 shows neither whether a deletion frees a place nor when, nor whether the initial key counts.
  {
    id: 'places-of-deleted-keys-are-free-three-seconds-later',
    questions: ['keys/limit-frees', 'keys/limit-counts-initial'],
    about: 'A job removes deleted keys, which take places until then; the initial key takes one too.',
    profile: { initialKeyCounts: true },
    create: () => freePlacesLater(3000),
  },
  // Parts 7 and 8 show neither the order of the checks nor what is said about the limit of ten keys.
  {
    id: 'full-list-of-keys-is-told-before-anything-else',
    questions: ['keys/limit-exceeded', 'errors/outcomes', 'signatures/nonce-burnt', 'envelope/method-not-found'],
    about: 'Strangers, wrong secrets and wrong params get the error of the eleventh key, and nonces stay free.',
    profile: { methodCheckedFirst: false },
    create: () => ({ around: tellFullListFirst }),
  },
  // Part 5.1 does not show how far a timestamp may be off.
  {
    id: 'timestamps-from-before-their-key-are-refused',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'A timestamp is at most ten minutes off and not older than its created key; nonces may repeat.',
    profile: { nonceReuse: 'accepted' },
    create: refuseOlderThanKey,
  },
  // Part 5.1 does not show uniqueness rules of nonces.
  {
    id: 'last-twenty-nonces-of-each-address-are-remembered',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'A nonce may come again from elsewhere, after a refused call, and after twenty other nonces.',
    create: () => rememberFewNonces(20),
  },
]
