import { rules as referenceRules } from '../../rules.ts'
import { chain, changeAnswers, changeErrors, changeRefusals, httpDate, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

const floor = (ms: number) => Math.floor(ms / second) * second

/** Servers as somebody might build them, each with many choices combined. */
export const combinedVariants: IndependentVariant[] = [
  {
    id: 'combined-strict-house',
    questions: ['sessions/user', 'sessions/counting', 'refresh/family', 'refresh/lifetime-renewed', 'addresses/forms'],
    about:
      'Everything is counted for all keys together, lives are short, addresses must fit, and a replay ends the family.',
    profile: {
      sessionUser: 'all-keys',
      unnamedCountAsSessions: true,
      reuseRevokesFamily: true,
      refreshLifetime: 'kept',
      refreshChecksAddress: true,
      expiresInKept: false,
      accessLifeMs: 5 * minute,
      refreshLifeMs: 2 * hour,
      timeWindowMs: 30 * second,
      refusalStatus: 'http',
    },
    create: () => ({ rules: { addressChecked: () => true } }),
  },
  {
    id: 'combined-lenient-house',
    questions: [
      'scopes/case',
      'envelope/batch',
      'signatures/nonce-reuse',
      'grants/empty-scope',
      'sessions/reused-name',
    ],
    about: 'Whatever can be taken is taken.',
    profile: {
      strictEnvelope: false,
      idTypes: 'any',
      batch: 'answered',
      notifications: 'answered',
      extraParams: 'ignored',
      nonceReuse: 'accepted',
      noncePadding: 'accepted',
      unpaddedSignatures: 'accepted',
      weakPublicKeys: 'accepted',
      schemeCase: 'any',
      scopeCase: 'any',
      unknownScopes: 'left-out',
      emptyScope: 'whole-key',
      scopeEcho: 'as-requested',
      scopeOnRefresh: 'ignored',
      expiresInTooLong: 'capped',
      reusedSessionName: 'joins',
      timeWindowMs: 365 * 24 * hour,
    },
  },
  {
    id: 'combined-gateway',
    questions: ['errors/http-status', 'errors/shape', 'tokens/prefix', 'addresses/forwarded', 'signatures/time-window'],
    about: 'A gateway sends pages of its own, closes connections and shows a Date that is 1.2 seconds behind.',
    profile: {
      errorBody: 'text',
      closeConnections: true,
      trustProxy: true,
      tokenPrefix: 'Token',
      timeWindowMs: minute,
    },
    settings: { tokenPrefix: 'Token' },
    create: () => ({
      around: chain(
        changeRefusals((answer) =>
          textAnswer(answer, answer.status, '<h1>Request blocked</h1>', { 'content-type': 'text/html' }),
        ),
        changeAnswers((answer, _request, context) => ({
          ...answer,
          headers: { ...answer.headers, server: 'gateway', date: httpDate(context.now() - 1200) },
        })),
      ),
    }),
  },
  {
    id: 'combined-names-add-everyone-lifetime-kept-rounded-down',
    questions: [
      'sessions/reused-name',
      'sessions/user',
      'sessions/age',
      'refresh/lifetime-renewed',
      'limits/token-lifetimes',
    ],
    about: 'A name can be there twice among sixteen sessions of all keys, and no refresh makes a session last longer.',
    profile: {
      reusedSessionName: 'adds',
      sessionUser: 'all-keys',
      oldestSession: 'longest-unused',
      refreshLifetime: 'kept',
      refreshLifeMs: 30 * minute,
      accessLifeMs: 3 * minute,
    },
    create: () => ({ rules: { expiry: floor } }),
  },
  {
    id: 'combined-expires-in-kept-within-rest-of-chain',
    questions: ['refresh/expires-in-kept', 'refresh/lifetime-renewed', 'expires-in/too-long', 'limits/token-lifetimes'],
    about: 'expiresIn survives a refresh up to the kept end of the chain, is at most ten minutes, and is rounded up.',
    profile: {
      refreshLifetime: 'kept',
      expiresInTooLong: 'capped',
      expiryRounding: 'up-to-second',
      refreshLifeMs: 20 * minute,
      accessLifeMs: 2 * minute,
    },
    create: () => ({
      rules: { accessLifeMs: (ms, profile) => Math.min(ms ?? profile.accessLifeMs, 10 * minute) },
    }),
  },
  {
    id: 'combined-name-refused-unnamed-counted',
    questions: ['sessions/reused-name', 'sessions/counting', 'sessions/user'],
    about: 'A name in use by any key is refused, and unnamed grants push the oldest sessions out.',
    profile: { unnamedCountAsSessions: true, sessionUser: 'all-keys' },
    create: () => ({ rules: { reusedSessionName: () => 'refused' } }),
  },
  {
    id: 'combined-scope-left-out-errors-alike-echo-requested',
    questions: ['grants/unknown-scope', 'grants/scope-echo', 'errors/outcomes', 'envelope/method-not-found'],
    about: 'Scopes beyond the key are left out, and all errors look alike, at HTTP 404.',
    profile: { unknownScopes: 'left-out', methodCheckedFirst: false, refusalStatus: 'http', errorId: 'none' },
    create: () => ({
      around: chain(
        changeErrors(() => ({ code: 1, message: 'No' })),
        changeRefusals((answer) => ({ ...answer, status: 404 })),
      ),
      rules: { scopeBeyondKey: () => 'left-out' },
    }),
  },
  {
    id: 'combined-clock-ahead-full-hour-no-date',
    questions: ['signatures/time-window', 'limits/token-lifetimes', 'expires-in/too-long'],
    about: 'The clock is two minutes ahead, no Date shows it, and refresh tokens end at the next full hour but one.',
    profile: { clockOffsetMs: 2 * minute, expiresInTooLong: 'capped' },
    create() {
      const held = holdContext()
      return {
        around: chain(
          held.around,
          changeAnswers((answer) => {
            const { date: _date, ...headers } = answer.headers
            return { ...answer, headers }
          }),
        ),
        rules: { refreshLifeMs: () => 2 * hour - (held.get().now() % hour) },
      }
    },
  },
  {
    id: 'combined-keys-nine-narrow-names-short',
    questions: [
      'keys/limit-counts-initial',
      'keys/scope-above-creator',
      'keys/name-rules',
      'keys/pem-variants',
      'keys/limit-exceeded',
    ],
    about: 'Nine keys beside the initial one, each within its creator, with a short name and a PEM as shown.',
    profile: {
      initialKeyCounts: true,
      keyScopeAboveCreator: 'refused',
      repeatedPublicKeys: 'refused',
      refusalStatus: 'http',
    },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid && !(method === 'manager/createApiKey' && name === 'name' && String(value).length > 32),
        publicKey: (pem, profile) =>
          typeof pem === 'string' && !pem.includes('\r') && pem.endsWith('-')
            ? referenceRules.publicKey(pem, profile)
            : undefined,
      },
    }),
  },
  {
    id: 'combined-sorted-echo-narrow-refresh-one-solution',
    questions: ['grants/scope-echo', 'grants/scope-with-refresh', 'scopes/solution-id-from-any', 'refresh/family'],
    profile: {
      scopeEcho: 'sorted',
      scopeOnRefresh: 'narrows',
      solutionIdFromAny: false,
      reuseRevokesFamily: true,
      scopeCase: 'any',
    },
  },
]
