import { rules as referenceRules } from '../../rules.ts'
import { chain } from '../answers.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'
import { waitAnswer } from './eleventh-limits.ts'
import { storeNonces } from './tenth-keys.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

const signedNonce = ({ headers }: { headers: { readonly [name: string]: string | undefined } }): string | undefined =>
  headers.authorization?.split(';')[3]

/** What other clients have long used as a nonce: short texts, usual words with a number, rows of letters, few letters over and over. */
function isCommon(nonce: string): boolean {
  const isWord = /^(my|test|example|random|some)?[-_]?(nonce|random|secret|value)?[-_]?\d{0,6}$/i.test(nonce)
  const isRow = ['0123456789', '1234567890', 'abcdefgh'].some((row) => nonce.toLowerCase().startsWith(row))
  return nonce.length <= 6 || isWord || isRow || new Set(nonce).size <= 3
}

/** Calls go to the nodes in turn, and each node knows only the nonces that came to it. */
function rememberInNodes(count: number): Parts {
  const seen = watch(() => ({ calls: 0, nodes: Array.from({ length: count }, () => new Set<string>()) }))
  let node = new Set<string>()
  const choose: Around = (handle) => (request) => {
    const { calls, nodes } = seen.memory
    node = nodes[calls % count] ?? node
    seen.memory.calls += 1
    const chosen = node
    const answer = handle(request)
    const nonce = signedNonce(request)
    if (nonce !== undefined) chosen.add(nonce)
    return answer
  }
  return {
    around: chain(choose, seen.around),
    rules: {
      nonceTaken: (nonce, profile) => referenceRules.nonceTaken(nonce, profile) && !node.has(nonce),
      usedNonceTaken: () => true,
    },
  }
}

/** The server restarts every `everyMs`, takes `downMs` for it, and has then lost its nonces, but not its tokens. */
function restartOften(everyMs: number, downMs: number): Parts {
  const begun = createMemory((context) => ({ atMs: context.now() }))
  const seen = watch(() => ({ round: 0, nonces: new Set<string>() }))
  const restart: Around = (handle, context) => (request) => {
    const upMs = context.now() - begun(context).atMs
    const round = Math.floor(upMs / everyMs)
    if (round !== seen.memory.round) Object.assign(seen.memory, { round, nonces: new Set<string>() })
    if (round > 0 && upMs % everyMs < downMs) return waitAnswer(503, downMs)
    const { nonces } = seen.memory
    const answer = handle(request)
    const nonce = signedNonce(request)
    if (nonce !== undefined) nonces.add(nonce)
    return answer
  }
  return {
    around: chain(restart, seen.around),
    rules: {
      nonceTaken: (nonce, profile) => referenceRules.nonceTaken(nonce, profile) && !seen.memory.nonces.has(nonce),
      usedNonceTaken: () => true,
    },
  }
}

/** A clock that is corrected without jumps: for ten seconds a twentieth too fast, then for ten a twentieth too slow. */
const wander: Around = (handle, context) => {
  const { now } = context
  context.now = () => {
    const nowMs = now()
    const phaseMs = nowMs % 20_000
    return nowMs + Math.floor(Math.min(phaseMs, 20_000 - phaseMs) / 20) - 250
  }
  return handle
}

/** Part 5.1: what is remembered of nonces, and a clock that is corrected while the server runs. */
export const twelfthSignatureVariants: IndependentVariant[] = [
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown." The sample has one nonce with and without padding.
  {
    id: 'nonces-are-used-up-for-ever-for-every-key',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt', 'signatures/nonce-padding'],
    about: 'A nonce that came once, with whatever key, padding and outcome, is never taken again, years later either.',
    profile: { noncePadding: 'accepted' },
    create: () =>
      storeNonces(
        (nonce) => nonce.replace(/=+$/, ''),
        () => true,
      ),
  },
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown", nor that only the nonces of one caller count.
  {
    id: 'common-nonces-were-used-by-others-before',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-length'],
    about:
      'Short nonces, usual words and numbers, rows like abcdefgh and nonces of three different letters are used up.',
    create: () => ({
      rules: { nonceTaken: (nonce, profile) => referenceRules.nonceTaken(nonce, profile) && !isCommon(nonce) },
    }),
  },
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown."
  {
    id: 'three-nodes-remember-nonces-each-for-itself',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about:
      'Calls go to three nodes in turn, so a nonce that is repeated at once is taken, and the third time it is not.',
    create: () => rememberInNodes(3),
  },
  // Part 5.1 does not show how long a nonce is remembered, and part 8 no limits. Tokens, sessions and keys stay.
  {
    id: 'restart-every-fifteen-seconds-forgets-nonces',
    questions: ['signatures/nonce-reuse', 'limits/rate', 'errors/http-status'],
    about: 'Every fifteen seconds there is 503 for 300 ms, and what was signed before may be sent again.',
    create: () => restartOften(15_000, 300),
  },
  // Part 5.1 does not show how exact the clock of the server is. It is never off by more than a quarter of a second.
  {
    id: 'clock-goes-five-percent-too-fast-and-too-slow-in-turn',
    questions: ['signatures/time-window', 'limits/token-lifetimes'],
    about: 'The clock is up to 250 ms behind and then ahead, without jumps; a timestamp is at most ten seconds off.',
    profile: { timeWindowMs: 10_000, accessLifeMs: 90_000 },
    create: () => ({ around: wander }),
  },
]
