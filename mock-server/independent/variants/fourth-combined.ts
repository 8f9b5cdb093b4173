import { chain, changeAnswers, changeErrors, changeRefusals } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'

const minute = 60_000

/** Whole houses: each answers several open questions as its tools and habits suggest. */
export const fourthCombinedVariants: IndependentVariant[] = [
  {
    id: 'shop-with-loose-types',
    questions: ['envelope/id-types', 'envelope/params-type', 'errors/id', 'grants/extra-params', 'errors/codes'],
    profile: {
      idTypes: 'any',
      strictEnvelope: false,
      extraParams: 'ignored',
      errorId: 'null',
      notifications: 'answered',
    },
    create: () => ({ around: changeErrors(({ code, message }) => ({ code: String(code), message })) }),
  },
  {
    id: 'shop-with-a-framework-for-beans',
    questions: [
      'envelope/content-type',
      'envelope/extra-members',
      'envelope/id-types',
      'errors/shape',
      'limits/token-lifetimes',
    ],
    profile: {
      contentType: 'json-only',
      extraMembers: 'refused',
      idTypes: 'integers',
      refusalStatus: 'http',
      expiryRounding: 'up-to-second',
      accessLifeMs: 5 * minute,
    },
    create: () => ({
      around: changeRefusals((answer, request) => ({
        ...answer,
        body: JSON.stringify({ timestamp: answer.headers.date, status: answer.status, path: request.target }),
      })),
    }),
  },
  {
    id: 'shop-with-plain-errors-and-long-tokens',
    questions: ['errors/shape', 'errors/http-status', 'grants/empty-scope', 'tokens/format', 'signatures/nonce-length'],
    profile: {
      errorBody: 'text',
      emptyScope: 'refused',
      nonceMaxLength: 64,
      tokenLength: 700,
      methodCheckedFirst: false,
    },
  },
  {
    id: 'shop-that-validates-with-422',
    questions: ['errors/http-status', 'errors/shape', 'errors/id', 'grants/scope-echo', 'solutions/list-result'],
    profile: { refusalStatus: 'http', errorId: 'none', listShape: 'counted', scopeEcho: 'sorted' },
    create: () => ({
      around: changeRefusals((answer) => ({
        ...answer,
        status: answer.status === 400 ? 422 : answer.status,
        body: JSON.stringify({ detail: [{ loc: ['body', 'params'], msg: 'refused', type: 'value_error' }] }),
      })),
    }),
  },
  {
    id: 'shop-that-adds-members-and-wants-no-header-at-grants',
    questions: [
      'keys/create-result-extras',
      'grants/authorization-header',
      'signatures/scheme-case',
      'signatures/base64-padding',
    ],
    profile: {
      extraResultMembers: true,
      authHeaderOnGrant: 'refused',
      schemeCase: 'any',
      unpaddedSignatures: 'accepted',
    },
  },
  {
    id: 'shop-behind-two-proxies',
    questions: ['envelope/other-path', 'limits/rate', 'limits/request-size', 'addresses/forwarded'],
    profile: {
      basePath: '/edge/eu-1',
      closeConnections: true,
      callsPerSecond: 50,
      maxBodyBytes: 32 * 1024,
      trustProxy: true,
    },
    create: () => ({
      around: chain(
        changeAnswers((answer) => ({ ...answer, chunked: true })),
        changeAnswers((answer) => ({
          ...answer,
          headers: { ...answer.headers, via: '1.1 first, 1.1 second', vary: '*', 'cache-control': 'no-store' },
        })),
      ),
    }),
  },
  {
    id: 'shop-with-a-security-office',
    questions: [
      'signatures/time-window',
      'limits/token-lifetimes',
      'refresh/family',
      'refresh/foreign-address',
      'refresh/expires-in-kept',
      'keys/unknown-scopes',
      'grants/authorization-header',
    ],
    profile: {
      timeWindowMs: minute,
      accessLifeMs: 2 * minute,
      refreshLifeMs: 20 * minute,
      reuseRevokesFamily: true,
      refreshChecksAddress: true,
      expiresInKept: false,
      unknownKeyScopes: 'all-but-shown-refused',
      authHeaderOnGrant: 'judged',
    },
  },
  {
    id: 'shop-where-everyone-is-one-user',
    questions: ['sessions/user', 'sessions/reused-name', 'scopes/case', 'grants/empty-scope', 'grants/unknown-scope'],
    profile: {
      sessionUser: 'all-keys',
      reusedSessionName: 'adds',
      scopeCase: 'any',
      emptyScope: 'whole-key',
      unknownScopes: 'left-out',
    },
  },
  {
    id: 'shop-with-slow-answers-and-a-clock-behind',
    questions: [
      'signatures/time-window',
      'refresh/lifetime-renewed',
      'expires-in/too-long',
      'keys/limit-counts-initial',
    ],
    profile: {
      delayMs: 60,
      clockOffsetMs: -3 * minute,
      timeWindowMs: 5 * minute,
      refreshLifetime: 'kept',
      expiresInTooLong: 'capped',
      initialKeyCounts: true,
    },
  },
]
