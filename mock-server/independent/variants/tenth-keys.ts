import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { rules as referenceRules } from '../../rules.ts'
import { changeAnswers } from '../answers.ts'
import { answerThrough, isAccepted, readMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

const headerFields = ({ headers }: MockRequest): string[] => headers.authorization?.split(';') ?? []

/**
 * A store of nonces that replaces that of the reference server.
 *
 * @param storedAs How a nonce is written; two nonces that are written alike count as one.
 * @param isStored Whether the nonce of a call with this answer is used up.
 */
export function storeNonces(storedAs: (nonce: string) => string, isStored: (answer: MockAnswer) => boolean): Parts {
  const seen = watch(() => new Set<string>())
  const store = answerThrough((answer, request) => {
    const nonce = headerFields(request)[3]
    if (nonce !== undefined && isStored(answer)) seen.memory.add(storedAs(nonce))
    return answer
  })
  return {
    around: (handle, context) => store(seen.around(handle, context), context),
    rules: {
      nonceTaken: (nonce, profile) => referenceRules.nonceTaken(nonce, profile) && !seen.memory.has(storedAs(nonce)),
      usedNonceTaken: () => true,
    },
  }
}

const errorCode = ({ body }: MockAnswer): unknown => (readMembers(body)?.error as { code?: unknown } | undefined)?.code

const asWritten = (nonce: string): string => nonce

/** A nonce is used up only by a call that is accepted in the end. */
export const storeNoncesOfAcceptedCalls = (): Parts => storeNonces(asWritten, isAccepted)

/** A creation by Basic credentials with the header and the body of an accepted one gets its answer again for a while. */
function answerCreationAgain(forMs: number): Around {
  const creations = createMemory(() => new Map<string, { answer: MockAnswer; atMs: number }>())
  const nameOf = (request: MockRequest): string | undefined => {
    const { authorization = '' } = request.headers
    const isBasic = /^basic /i.test(authorization) && isMethod(request, 'manager/createApiKey')
    return isBasic ? JSON.stringify([authorization, request.body.toString('base64')]) : undefined
  }
  return (handle, context) => {
    const kept = answerThrough((answer, request) => {
      const name = nameOf(request)
      if (name !== undefined && isAccepted(answer)) creations(context).set(name, { answer, atMs: context.now() })
      return answer
    })(handle, context)
    return (request) => {
      const first = creations(context).get(nameOf(request) ?? '')
      const creator = context.state.keys.get(namedKeyId(request) ?? '')
      const isRepeated = first !== undefined && context.now() - first.atMs < forMs
      if (!isRepeated || !creator?.enabled || creator.deleted) return kept(request)
      return { ...first.answer, headers: { ...first.answer.headers, 'idempotent-replayed': 'true' } }
    }
  }
}

/** Answers the eleventh creation as if the method did not exist. */
const hideFullMethod: Around = changeAnswers((answer) => {
  if (errorCode(answer) !== 24877) return answer
  const body = JSON.stringify({ ...readMembers(answer.body), error: { code: -32601, message: 'Method not found' } })
  return { ...answer, status: 404, body }
})

/** The bytes of a MAC in BASE64. Padding may be missing, and the two spare bits do not matter. */
function macBytes(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]{27}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** Parts 2, 4.1, 5.1 and 8: creations, nonces, timestamps and signatures. */
export const tenthKeyVariants: IndependentVariant[] = [
  // Part 8 does not show the behaviour when the limit of ten keys is exceeded, and part 7 no error codes.
  {
    id: 'eleventh-creation-finds-no-such-method',
    questions: ['keys/limit-exceeded', 'errors/codes', 'errors/http-status'],
    about: 'While the list of keys is full, createApiKey is answered with 404 and -32601.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: hideFullMethod }),
  },
  // No part says what a request that comes twice does. It has the same id, which the caller chooses, and the same bytes.
  {
    id: 'creation-with-the-same-id-and-body-is-a-retry',
    questions: ['keys/create-result-extras', 'keys/name-rules'],
    about: 'For two seconds, the same bytes with the same Basic header get the same key, and take one place.',
    profile: { extraResultMembers: true },
    create: () => ({ around: answerCreationAgain(2000) }),
  },
  // Part 5.1 does not show length and uniqueness rules of nonces.
  {
    id: 'nonces-are-unique-in-their-first-16-characters',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-length', 'signatures/nonce-burnt'],
    about: 'The column for nonces cuts them off, so two with the same first half may be one; wrong calls count too.',
    create: () =>
      storeNonces(
        (nonce) => nonce.slice(0, 16),
        () => true,
      ),
  },
  // Part 5.1 does not show uniqueness rules of nonces, nor that their letter case counts.
  {
    id: 'nonces-are-unique-without-their-letter-case',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'A database compares nonces in any case; a wrong signature leaves its nonce free.',
    create: () =>
      storeNonces(
        (nonce) => nonce.toLowerCase(),
        (answer) => errorCode(answer) !== 24879,
      ),
  },
  // Part 5.1 does not show uniqueness rules of nonces.
  {
    id: 'nonces-of-refused-calls-may-come-again',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'The nonce is stored with the work of a call, so one that fails for its params or scope leaves it free.',
    create: storeNoncesOfAcceptedCalls,
  },
  // Part 5.1 does not show how far a timestamp may be off, nor that it is the same for every method.
  {
    id: 'creations-need-a-timestamp-of-three-seconds',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'A signed creation is good for three seconds, other calls for five minutes; nonces may repeat.',
    profile: { nonceReuse: 'accepted' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          timestampTaken: (timestamp, nowMs, profile) => {
            const timeWindowMs = isMethod(seen.request, 'manager/createApiKey') ? 3000 : 300_000
            return referenceRules.timestampTaken(timestamp, nowMs, { ...profile, timeWindowMs })
          },
        },
      }
    },
  },
  // Part 5.1 asks for BASE64 of 20 bytes. Readers of BASE64 may ignore spare bits (RFC 4648, 3.5), and padding is open.
  {
    id: 'macs-are-decoded-before-they-are-compared',
    questions: ['signatures/base64-padding', 'signatures/nonce-padding'],
    about: 'The same 20 bytes are taken with and without padding and with any spare bits; other bytes are not.',
    profile: { noncePadding: 'accepted' },
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => {
          const bytes = macBytes(received)
          return bytes !== undefined && macBytes(expected)?.equals(bytes) === true
        },
      },
    }),
  },
]
