import { describeSummary } from '../engine/judge/classify.ts'
import type { Obstacle, StopReason } from '../engine/judge/problem.ts'
import { type TextOfKind, textOfKind } from './text-of-kind.ts'

/** Why nothing could be judged. */
export const obstacleTexts: TextOfKind<Obstacle> = {
  'not-run': ({ because }) => `not run: ${notRunText(because)}`,
  throttled: ({ status }) => `the server throttled every try (HTTP ${status})`,
  unread: ({ limitBytes }) =>
    `the answer is longer than ${limitBytes} bytes, so it was not read; raise maxAnswerBytes in the target file`,
  'control-after-broken': ({ got, control }) =>
    `the call was ${describeSummary(got)}, and a right call after it was ${describeSummary(control)}`,
  'effect-unknown': ({ got, effect }) =>
    `the call was ${describeSummary(got)}, and the suite cannot tell whether a ${effect} was issued`,
  'calls-dropped': ({ dropped, calls }) =>
    `${dropped} of ${calls} calls at once were dropped; the target may not accept that many connections`,
  'clock-jumped': () => "the target's clock jumped in every try",
  'too-late': () => 'the answer came too late to be judged: less than a second before the time that decides',
  'junk-accepted': ({ method }) =>
    `${method} also accepts junk credentials or no credentials, so this acceptance proves nothing`,
  'open-to-all': ({ method }) =>
    `${method} also accepts calls without any authorization, so what it accepts here proves nothing`,
  'value-missing': ({ reference }) => `"${reference}" has no value, because an earlier answer did not contain it`,
  'value-unusable': ({ wanted, got }) =>
    `the step needs ${wanted === 'token' ? 'a string as the token' : 'an API key with an id and a secret'}, but an earlier answer gave ${got}`,
  'expiry-not-a-timestamp': ({ digits }) =>
    `the reported expiry has ${digits} digits; a timestamp in milliseconds has 13, so nothing can be judged by it`,
  'not-a-time': ({ got }) => `the time to wait for or to judge by is not a number: ${got}`,
  'not-a-duration': ({ got }) => `"${got}" is not a duration`,
  'test-key-missing': testKeyMissingText,
  'not-a-test-key': ({ testKey }) => `"${testKey}" is not a test key`,
  'no-token': ({ testKey }) => `no access token was granted for "${testKey}"`,
  'no-token-word': ({ because }) =>
    because.kind === 'not-found'
      ? 'access tokens are refused with the prefixes "Bearer" and "Token", with the reported tokenType and without a prefix; set --token-prefix (tokenPrefix in the target file) to the one of this deployment'
      : `access tokens are refused with the given prefix "${because.prefix}"`,
  'no-way-to-create': () => 'test-keys.yaml names no way to create it',
  'root-has-public-key': () => 'the root key has a public key, so no key can be created in this way',
  'no-successful-answer': () => 'no call was accepted, so there was no successful answer to look at',
  'limit-spoilt': ({ by, what }) =>
    `${by} left more ${what} on the target than the limit allows, so nothing can be judged here; run against a fresh target`,
  'no-room-for-sessions': () =>
    'the target refuses every further session, although it should remove the oldest (sessions/next-works)',
}

const triedText = { 'no-token': 'no access token was granted', 'no-scope': 'it has no scope' } as const

function testKeyMissingText({ testKey, tried, fresh }: Extract<Obstacle, { kind: 'test-key-missing' }>): string {
  const ways = tried.map(({ way, outcome }) => {
    const word = outcome === 'no-token' || outcome === 'no-scope' ? triedText[outcome] : outcome
    return `${way}: ${word}`
  })
  const isFull = tried.length > 0 && tried.every(({ outcome }) => outcome === 'refused')
  const perhaps = fresh
    ? isFull
      ? '; if an earlier run with --disposable took all ten places for API keys, restart the server'
      : ''
    : '; most likely all ten places for API keys are taken, or the given key lacks the scope apikey: use another key, name a cleanup method in the target file, or leave "keys" out of --allow'
  return `the key of "${testKey}" could not be created (${ways.join(', ')})${perhaps}`
}

/** Why a case was not run, without a capital and without a full stop. */
export function notRunText(because: Extract<Obstacle, { kind: 'not-run' }>['because']): string {
  return because.kind === 'defect' ? 'the suite could not run this case' : stopText(because)
}

const stopTexts: TextOfKind<StopReason> = {
  time: ({ cleanUpLimitMs }) =>
    cleanUpLimitMs === undefined
      ? 'the time for the whole run (--timeout) is up'
      : `the clean-up took longer than ${cleanUpLimitMs / 1000} s`,
  interrupted: ({ during }) => `the ${during} was interrupted`,
  bail: ({ failures }) =>
    failures === 1 ? 'a case failed (--bail 1)' : `${failures} cases failed (--bail ${failures})`,
  'locked-out': ({ target }) =>
    `${target} refuses the root key that it accepted before; it may have locked the key out`,
  gone: ({ target, because }) =>
    because.kind === 'refuses-connections'
      ? `${target} went away: it refuses connections`
      : `${target} went away: ${because.reason ?? `${because.calls} calls in a row got no answer`}`,
}

/** Why a run ended before its last case. */
export function stopText(stop: StopReason): string {
  return textOfKind(stopTexts, stop)
}
