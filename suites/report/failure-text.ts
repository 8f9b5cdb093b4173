import { describeSummary } from '../engine/judge/classify.ts'
import type { Doubt, EnvelopeProblem, Failure, Mismatch } from '../engine/judge/problem.ts'
import { type TextOfKind, textOfKind } from './text-of-kind.ts'

const envelopeTexts: TextOfKind<EnvelopeProblem> = {
  'wrong-jsonrpc': ({ got }) => `expected jsonrpc "2.0", got ${got}`,
  'wrong-id': ({ sent, got }) => `expected the id ${sent} of the request, got ${got}`,
  'wrong-result-type': ({ method, got }) => `expected the result of ${method} to be an object, got ${got}`,
}

const lackingText = {
  id: 'the result has no id',
  secret: 'the result has no secret',
  'sendable-id': 'the id of the result is not allowed in an HTTP header',
} as const

/** How an expectation was broken. */
export const failureTexts: TextOfKind<Failure> = {
  ...envelopeTexts,
  'wrong-outcome': ({ expected, got, doubt }) =>
    `expected the call to be ${expected}, it was ${describeSummary(got)}${doubtText(doubt)}`,
  'wrong-value': ({ path, mismatch }) => `${path}: ${mismatchText(mismatch)}`,
  'wrong-count': ({ wanted, calls, side, counted, round, connections, doubt }) => {
    const atOnce = round === undefined ? '' : ' at once'
    const race = round === undefined ? '' : ` (race ${round}, on ${connections} connections)`
    return `expected ${countWords(wanted)} of ${calls} calls${atOnce} to be ${side}, ${counted} were${race}${doubtText(doubt)}`
  },
  'call-not-answered': ({ calls, got }) =>
    `expected every one of ${calls} calls to be answered, one was ${describeSummary(got)}`,
  'effect-shown': ({ got, effect }) =>
    `expected the call to be refused, it was ${describeSummary(got)}, and the ${effect} in its answer works`,
  'envelope-of-answers': ({ departures, more, count, answers }) => {
    const examples = departures.map((one) => textOfKind(envelopeTexts, one)).join('; ')
    return `${count} of ${answers} successful answers: ${examples}${more > 0 ? `; and ${more} more like these` : ''}`
  },
  'creation-result': ({ lacks }) => lackingText[lacks],
  'token-unsendable': () => 'the access token has characters that no HTTP header can carry',
}

const doubtTexts: TextOfKind<Doubt> = {
  'newer-tokens': ({ newer, question }) =>
    `${newer} newer tokens of its key were issued, and whether the number of live ones is limited is open (${question})`,
  'pair-uncertain': ({ question }) =>
    `what became of its pair is not known: a refresh of it was lost or refused, or a used refresh token was sent (${question})`,
  'key-perhaps-removed': () => 'its key may have been removed, by the eleventh creation or by a method that named it',
  'key-perhaps-locked': ({ refused, question }) =>
    `${refused} calls with its key were refused before, one after another, and a server may lock a key (${question})`,
  'sessions-of-others': () =>
    'the session of the refused token is removed by sixteen newer ones, and others may have created some with its key',
}

/** Behind a sentence about a refusal. */
function doubtText(doubt: Doubt | undefined): string {
  return doubt === undefined ? '' : `; what may explain it: ${textOfKind(doubtTexts, doubt)}`
}

/** `at most 16`, for the fixtures' `at-most 16`. */
function countWords(wanted: number | string): string {
  return String(wanted).replace('-', ' ')
}

function mismatchText(mismatch: Mismatch): string {
  const { got } = mismatch
  switch (mismatch.rule) {
    case 'equals':
      return `expected ${mismatch.wanted}, got ${got}`
    case 'not':
      return `expected something other than ${mismatch.wanted}, got ${got}`
    case 'includes':
      return `expected a text or a list with ${mismatch.wanted}, got ${got}`
    case 'excludes':
      return `expected a text or a list without ${mismatch.wanted}, got ${got}`
    case 'at-most':
      return `expected at most ${mismatch.wanted}, got ${got}`
    case 'at-least':
      return `expected at least ${mismatch.wanted}, got ${got}`
    case 'schema': {
      const place = mismatch.place === '' ? '' : ` at ${mismatch.place}`
      return `expected a value that ${mismatch.wanted}${place}, got ${got}`
    }
    case 'in': {
      if (mismatch.offByMs === undefined) return `expected a time in ms, got ${got}`
      const side = mismatch.offByMs > 0 ? 'later' : 'earlier'
      return `expected a time ${mismatch.inMs} ms from now, got ${got}, which is ${Math.abs(mismatch.offByMs)} ms ${side} than that`
    }
  }
}
