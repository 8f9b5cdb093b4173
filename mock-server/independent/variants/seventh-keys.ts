import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { rules as referenceRules } from '../../rules.ts'
import { changeAnswers } from '../answers.ts'
import { answerThrough, isAccepted, paramsOf, readMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

const idWords = ['null', 'true', '0', '-0', 'NaN', 'undefined', '__proto__', '[object Object]', '.', '*']

const fieldsOf = ({ headers }: MockRequest): string[] => {
  const fields = headers.authorization?.split(';') ?? []
  return fields.length > 1 ? fields : []
}

/** A server that notes each nonce in a memory of its own and decides by it which ones are used. */
function rememberNonces<Memory extends object>(
  begin: () => Memory,
  note: (memory: Memory, request: MockRequest, nonce: string) => void,
  isUsed: (memory: Memory, request: MockRequest, nonce: string) => boolean,
): ReturnType<NonNullable<IndependentVariant['create']>> {
  const seen = watch<Memory>(begin)
  const noteEach = answerThrough((answer, request) => {
    const nonce = fieldsOf(request)[3]
    if (nonce !== undefined) note(seen.memory, request, nonce)
    return answer
  })
  return {
    around: (handle, context) => noteEach(seen.around(handle, context), context),
    rules: { usedNonceTaken: () => !isUsed(seen.memory, seen.request, fieldsOf(seen.request)[3] ?? '') },
  }
}

const placeOf = ({ body }: MockRequest, nonce: string): string =>
  `${readMembers(body.toString('utf8'))?.method} ${nonce}`

/** A nonce is used up for one method only. */
export const nonceOnceForEachMethod = () =>
  rememberNonces(
    () => new Set<string>(),
    (used, request, nonce) => used.add(placeOf(request, nonce)),
    (used, request, nonce) => used.has(placeOf(request, nonce)),
  )

/** Each key has a field for its last nonce. */
export const lastNonceOfEachKey = () =>
  rememberNonces(
    () => new Map<string, string>(),
    (last, request, nonce) => last.set(namedKeyId(request) ?? '', nonce),
    (last, request, nonce) => last.get(namedKeyId(request) ?? '') === nonce,
  )

/** The same signed request gets the answer of the first one for five seconds, while its key is active. */
function answerSignedAgain(): Around {
  const answers = createMemory(() => new Map<string, { answer: MockAnswer; atMs: number }>())
  return (handle, context) => {
    const nameOf = ({ method, target, headers, body }: MockRequest) =>
      JSON.stringify([method, target, headers.authorization, body.toString('base64')])
    const keep = changeAnswers((answer, request) => {
      if (fieldsOf(request).length > 0 && isAccepted(answer))
        answers(context).set(nameOf(request), { answer, atMs: context.now() })
      return answer
    })(handle, context)
    return (request) => {
      const known = fieldsOf(request).length > 0 ? answers(context).get(nameOf(request)) : undefined
      const key = context.state.keys.get(namedKeyId(request) ?? '')
      const again = known !== undefined && context.now() - known.atMs < 5000 && key?.enabled && !key.deleted
      return again ? { ...known.answer, headers: { ...known.answer.headers, 'x-replayed': '1' } } : keep(request)
    }
  }
}

/** After `most` wrong signatures in a row, signatures that name this key have to wait. */
function makeSignersWait(most: number, waitMs: number): Around {
  const keys = createMemory(() => new Map<string, { wrong: number; untilMs: number }>())
  return (handle, context) => {
    const count = changeAnswers((answer, request) => {
      const id = fieldsOf(request).length > 0 ? namedKeyId(request) : undefined
      if (id === undefined) return answer
      const wrong = !isAccepted(answer) && answer.body.includes('24879') ? (keys(context).get(id)?.wrong ?? 0) + 1 : 0
      keys(context).set(id, wrong < most ? { wrong, untilMs: 0 } : { wrong: 0, untilMs: context.now() + waitMs })
      return answer
    })(handle, context)
    return (request) => {
      const id = fieldsOf(request).length > 0 ? namedKeyId(request) : undefined
      const leftMs = (keys(context).get(id ?? '')?.untilMs ?? 0) - context.now()
      if (leftMs <= 0) return count(request)
      return { status: 429, headers: { 'retry-after': String(Math.ceil(leftMs / 1000)) }, body: 'Wait' }
    }
  }
}

function withoutNulls(body: unknown): unknown {
  const { params } = (body ?? {}) as { params?: unknown }
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return body
  const set = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))
  return { ...(body as object), params: set }
}

/** Parts 2, 4.1, 5.1 and 5.2: keys, secrets, names, nonces and timestamps. */
export const seventhKeyVariants: IndependentVariant[] = [
  // Part 2 says that an id is a string that identifies its key, and not which words it may be.
  {
    id: 'key-ids-are-words-that-programs-reserve',
    questions: ['keys/record'],
    about: 'The first ids are null, true, 0, NaN, __proto__ and the like, for a joke of the first author.',
    create() {
      const seen = watch(() => ({ made: 0 }))
      return {
        around: seen.around,
        rules: {
          keyId: (fresh) => {
            seen.memory.made += 1
            return idWords[seen.memory.made - 1] ?? fresh
          },
        },
      }
    },
  },
  // Part 2 says that a secret is a string; JSON carries it in UTF-8, and nobody is told to compose its letters.
  {
    id: 'key-secrets-that-change-when-composed',
    questions: ['keys/record'],
    about: 'A secret has letters that are other letters once a client normalises them.',
    create: () => ({ rules: { keySecret: (fresh) => `e\u0301\u212b${fresh}\ufb01\u{1f5dd}\u0323\u0307` } }),
  },
  // Part 2 says that ids and secrets are strings; the id has neither a colon nor a semicolon, which would break part 5.
  {
    id: 'key-ids-are-json-lists-and-secrets-json-documents',
    questions: ['keys/record', 'keys/create-result-extras'],
    about: 'Ids and secrets are JSON within JSON, and so is a further member of the result.',
    create: () => ({
      rules: {
        keyId: (fresh) => JSON.stringify([fresh, 2]),
        keySecret: (fresh) => JSON.stringify({ secret: fresh, id: null, result: { '\n': [1] } }),
        createKeyResult: (result) => ({ ...result, raw: JSON.stringify(result) }),
      },
    }),
  },
  // Part 4.1 gives every creation a secret, and a key with a public key accepts no secret; so which text it is, is open.
  {
    id: 'secret-of-public-key-is-its-pem-again',
    questions: ['keys/secret-of-public-key', 'keys/record'],
    about: 'The secret column of such a key holds the PEM text that was sent; other secrets are in capitals.',
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keySecret: (fresh) => fresh.toUpperCase(),
          createKeyResult: ({ id, secret }) => {
            const { publicKey } = paramsOf(seen.request)
            return { id, secret: typeof publicKey === 'string' ? publicKey : secret }
          },
        },
      }
    },
  },
  // Part 2 calls the name a label and does not say how long it may be, nor whether a public key comes twice.
  {
    id: 'key-names-of-at-most-twelve-characters',
    questions: ['keys/name-rules', 'keys/public-key-repeated'],
    about: 'A label fits on a badge, and a public key belongs to one key.',
    profile: { repeatedPublicKeys: 'refused' },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid && (method !== 'manager/createApiKey' || name !== 'name' || String(value).length <= 12),
      },
    }),
  },
  // Parts 4.1 and 4.2 have optional params and do not say what null in their place means; many readers drop it.
  {
    id: 'params-that-are-null-count-as-absent',
    questions: ['grants/extra-params', 'grants/scope-with-refresh'],
    about: 'publicKey null makes a key with a secret, and scope null beside a refresh token is nothing.',
    create: () => ({ rules: { parseBody: (text) => withoutNulls(referenceRules.parseBody(text)) } }),
  },
  // Part 5.1 does not show uniqueness rules of nonces.
  {
    id: 'nonces-once-for-each-method',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'Each method has a list of nonces of its own.',
    create: nonceOnceForEachMethod,
  },
  // Part 5.1 does not show uniqueness rules of nonces, nor how far a timestamp may be off.
  {
    id: 'only-the-last-nonce-of-a-key-is-remembered',
    questions: ['signatures/nonce-reuse', 'signatures/time-window'],
    about: 'The record of a key has one field for a nonce, so the one before can come again within 20 seconds.',
    profile: { timeWindowMs: 20_000 },
    create: lastNonceOfEachKey,
  },
  // Part 5.1 does not show how far a timestamp may differ, nor that it is the same for both kinds of keys.
  {
    id: 'signatures-of-public-keys-last-longer-than-those-of-secrets',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'A MAC is good for five seconds either way, an ED25519 signature for two minutes, and nonces may repeat.',
    profile: { nonceReuse: 'accepted' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          timestampTaken: (timestamp, nowMs) => {
            const isCurve = seen.context.state.keys.get(namedKeyId(seen.request) ?? '')?.publicKey !== undefined
            const windowMs = isCurve ? 120_000 : 5000
            return /^[0-9]{13}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs) < windowMs
          },
        },
      }
    },
  },
  // Part 5.1 says that a timestamp is an integer, "as in the example" of 13 digits; others are open.
  {
    id: 'timestamps-in-seconds-are-taken-too',
    questions: ['signatures/time-window', 'signatures/timestamp-spelling'],
    about: 'Ten digits are seconds, thirteen are milliseconds, and both may be a minute off.',
    create: () => ({
      rules: {
        timestampTaken: (timestamp, nowMs) => {
          if (!/^([0-9]{10}|[0-9]{13})$/.test(timestamp)) return false
          return Math.abs(Number(timestamp.padEnd(13, '0')) - nowMs) < 60_000
        },
      },
    }),
  },
  // Part 5.1 does not show uniqueness rules of nonces; the repeated request is signed rightly and does nothing new.
  {
    id: 'same-signed-request-gets-its-answer-again',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'Whoever sends the same signed bytes within five seconds gets the same answer, also for a creation.',
    profile: { nonceBurntByBadSignature: false },
    create: () => ({ around: answerSignedAgain() }),
  },
  // Part 8 does not show rate limits; Basic credentials and tokens go on, and the key works again after the wait.
  {
    id: 'eight-wrong-signatures-make-signers-of-the-key-wait',
    questions: ['limits/lock-out', 'limits/rate'],
    about: 'Signatures that name such a key get 429 for four seconds.',
    create: () => ({ around: makeSignersWait(8, 4000) }),
  },
  // Parts 5.2 and 5.3 show the words of the header; HTTP itself allows several blanks behind a scheme word.
  {
    id: 'several-blanks-behind-basic-and-bearer-taken',
    questions: ['tokens/spelling', 'signatures/scheme-case'],
    about: 'Blanks behind Basic and Bearer are skipped, and no scheme word has a letter case.',
    profile: { schemeCase: 'any' },
    create: () => ({
      rules: { headerOf: ({ headers }) => headers.authorization?.replace(/^(Basic|Bearer) +/i, '$1 ') },
    }),
  },
  // Part 4.2 sends a grant without the header; with one, what counts is open, and here it must name the same key.
  {
    id: 'header-of-grant-must-name-the-same-key',
    questions: ['grants/authorization-header', 'keys/empty-scope'],
    about: 'A grant with a header for another key is refused, and so is a key without scope.',
    create: () => ({
      around: (handle) => (request) => {
        const { authorization } = request.headers
        const other =
          isMethod(request, 'manager/auth') &&
          authorization !== undefined &&
          namedKeyId(request) !== paramsOf(request).apiKeyId
        return other ? { status: 409, headers: { 'content-type': 'text/plain' }, body: 'Two callers' } : handle(request)
      },
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid && (method !== 'manager/createApiKey' || name !== 'scope' || (value as unknown[]).length > 0),
      },
    }),
  },
]
