import { chain, changeAnswers, changeErrors, changeJson, changeRefusals, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'

const minute = 60_000

/** Whole servers as somebody might build them. */
export const secondCombinedVariants: IndependentVariant[] = [
  {
    id: 'house-of-an-old-rpc-library',
    questions: ['errors/shape', 'errors/id', 'envelope/batch', 'envelope/missing-id', 'solutions/list-result'],
    about:
      'Errors are numbers, ids of refusals are null, batches and notifications are taken, members are in another order.',
    profile: { errorId: 'null', batch: 'answered', notifications: 'no-body', listShape: 'counted', idTypes: 'any' },
    create: () => ({
      around: chain(
        changeErrors(({ code }) => code),
        changeJson((envelope) => Object.fromEntries(Object.entries(envelope).reverse())),
      ),
    }),
  },
  {
    id: 'house-behind-a-content-network',
    questions: ['errors/http-status', 'errors/shape', 'addresses/forwarded', 'limits/rate', 'signatures/time-window'],
    about: 'No Date, a clock 40 seconds ahead, pages for refusals, 60 calls a second, connections closed.',
    profile: {
      clockOffsetMs: 40_000,
      refusalStatus: 'http',
      trustProxy: true,
      callsPerSecond: 60,
      closeConnections: true,
    },
    create: () => ({
      around: chain(
        changeRefusals((answer) =>
          textAnswer(answer, 403, '<html><title>Denied</title></html>', { 'content-type': 'text/html' }),
        ),
        changeAnswers((answer) => {
          const { date: _date, ...headers } = answer.headers
          return { ...answer, headers: { ...headers, via: '1.1 edge', age: '0', 'x-cache': 'MISS' } }
        }),
      ),
    }),
  },
  {
    id: 'house-of-short-lives',
    questions: [
      'limits/token-lifetimes',
      'refresh/lifetime-renewed',
      'expires-in/maximum',
      'signatures/time-window',
      'signatures/nonce-reuse',
    ],
    about: 'Access for a minute at most, refreshes for ten minutes in all, signatures for 20 seconds.',
    profile: {
      accessLifeMs: minute,
      refreshLifeMs: 10 * minute,
      refreshLifetime: 'kept',
      expiresInTooLong: 'capped',
      timeWindowMs: 20_000,
      nonceReuse: 'accepted',
    },
    create: () => ({
      rules: { accessLifeMs: (ms, profile) => Math.min(ms ?? profile.accessLifeMs, minute) },
    }),
  },
  {
    id: 'house-of-one-big-team',
    questions: [
      'sessions/user',
      'sessions/counting',
      'sessions/age',
      'keys/limit-counts-initial',
      'keys/public-key-repeated',
    ],
    about: 'All keys are one user whose every grant is a session, and the initial key is one of ten.',
    profile: {
      sessionUser: 'all-keys',
      unnamedCountAsSessions: true,
      oldestSession: 'longest-unused',
      initialKeyCounts: true,
      repeatedPublicKeys: 'refused',
    },
  },
  {
    id: 'house-of-strict-types',
    questions: [
      'envelope/extra-members',
      'envelope/content-type',
      'envelope/id-types',
      'keys/unknown-scopes',
      'grants/empty-scope',
      'limits/request-size',
    ],
    about: 'Everything that the document does not show is refused, with HTTP 400.',
    profile: {
      extraMembers: 'refused',
      idTypes: 'integers',
      contentType: 'json-only',
      unknownKeyScopes: 'all-but-shown-refused',
      emptyScope: 'refused',
      authHeaderOnGrant: 'refused',
      maxBodyBytes: 16 * 1024,
      refusalStatus: 'http',
      apikeySpelling: 'apikey',
    },
    create: () => ({ around: changeRefusals((answer) => ({ ...answer, status: 400 })) }),
  },
  {
    id: 'house-of-scripts',
    questions: ['solutions/list-result', 'errors/shape', 'keys/record', 'tokens/format', 'envelope/content-type'],
    about: 'Numbers as ids of keys, tokens of hex digits, text/html around all JSON, warnings in every result.',
    profile: { extraResultMembers: true, listShape: 'solutions', expiryRounding: 'up-to-second' },
    create() {
      let last = 41
      return {
        around: changeAnswers((answer) => ({
          ...answer,
          headers: { ...answer.headers, 'content-type': 'text/html; charset=UTF-8', 'x-powered-by': 'scripts' },
          body: `\n${answer.body}\n`,
        })),
        rules: {
          keyId: () => {
            last += 1
            return String(last)
          },
          tokenText: (_kind, fresh) => Buffer.from(fresh).toString('hex'),
        },
      }
    },
  },
  {
    id: 'house-that-tells-nothing',
    questions: [
      'errors/outcomes',
      'errors/shape',
      'envelope/method-not-found',
      'grants/unknown-scope',
      'grants/scope-echo',
    ],
    about: 'Refusals have HTTP 404 and no body; scopes that are unknown or beyond the key are left out silently.',
    profile: {
      errorBody: 'none',
      methodCheckedFirst: false,
      unknownScopes: 'left-out',
      scopeEcho: 'sorted',
      extraParams: 'ignored',
    },
    create: () => ({
      around: changeRefusals((answer) => ({ ...answer, status: 404 })),
      rules: { scopeBeyondKey: () => 'left-out' },
    }),
  },
  {
    id: 'house-of-whole-keys',
    questions: [
      'grants/empty-scope',
      'scopes/case',
      'scopes/solution-id-from-any',
      'refresh/family',
      'sessions/reused-name',
    ],
    about:
      'An empty scope means that of the key, scopes have any case, a name can be there twice, a replay ends the family.',
    profile: {
      emptyScope: 'whole-key',
      scopeCase: 'any',
      solutionIdFromAny: false,
      reuseRevokesFamily: true,
      reusedSessionName: 'adds',
      refreshLifetime: 'kept',
    },
  },
]
