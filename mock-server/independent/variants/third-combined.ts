import { chain, changeAnswers, changeErrors, changeJson, changeRefusals, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'

const minute = 60_000

/** Whole servers as different teams might build them. */
export const thirdCombinedVariants: IndependentVariant[] = [
  {
    id: 'team-with-a-strict-reader',
    questions: [
      'envelope/id-types',
      'envelope/extra-members',
      'envelope/content-type',
      'errors/id',
      'errors/http-status',
    ],
    about: 'Integers as ids, four members, application/json; refusals without id have the status 422.',
    profile: {
      idTypes: 'integers',
      extraMembers: 'refused',
      contentType: 'json-only',
      errorId: 'none',
      refusalStatus: 'http',
    },
    create: () => ({ around: changeRefusals((answer) => ({ ...answer, status: 422 })) }),
  },
  {
    id: 'team-with-a-loose-reader-and-xml-refusals',
    questions: ['envelope/jsonrpc-version', 'envelope/params-type', 'envelope/batch', 'errors/shape'],
    about: 'Takes nearly every envelope, and refuses with XML.',
    profile: { strictEnvelope: false, idTypes: 'any', batch: 'answered', refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, answer.status, `<error status="${answer.status}"/>`, { 'content-type': 'text/xml' }),
      ),
    }),
  },
  {
    id: 'team-with-words-of-its-own-at-a-path',
    questions: ['tokens/prefix', 'envelope/other-path', 'tokens/format'],
    about: 'Another scheme word, another token word and a path in front of /api.',
    profile: { basePath: '/rpc/v2', scheme: 'acme-hmac', tokenPrefix: 'Access', tokenLength: 22 },
    settings: { scheme: 'acme-hmac', tokenPrefix: 'Access' },
  },
  {
    id: 'team-with-a-slow-clock-and-short-lives',
    questions: ['signatures/time-window', 'limits/token-lifetimes', 'expires-in/too-long'],
    about: 'The clock is 90 seconds behind, expiries are full seconds, refreshes last half an hour.',
    profile: {
      clockOffsetMs: -90_000,
      expiryRounding: 'up-to-second',
      expiresInTooLong: 'capped',
      accessLifeMs: 5 * minute,
      refreshLifeMs: 30 * minute,
    },
  },
  {
    id: 'team-that-answers-statuses-in-json',
    questions: ['errors/shape', 'errors/codes', 'errors/id', 'solutions/list-result'],
    about: 'Every refusal is {"status", "title"} without an envelope, and lists are counted.',
    profile: { refusalStatus: 'http', listShape: 'counted' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, answer.status, JSON.stringify({ status: answer.status, title: 'Refused' }), {
          'content-type': 'application/json',
          'cache-control': 'no-store',
        }),
      ),
    }),
  },
  {
    id: 'team-with-one-session-name-and-narrow-keys',
    questions: ['sessions/reused-name', 'keys/scope-above-creator', 'scopes/solution-id-from-any', 'refresh/family'],
    about:
      'A name in use is joined, keys pass on only what they have, and a second use of a refresh token ends its line.',
    profile: {
      reusedSessionName: 'joins',
      keyScopeAboveCreator: 'refused',
      solutionIdFromAny: false,
      reuseRevokesFamily: true,
    },
  },
  {
    id: 'team-that-closes-connections-and-tells-little',
    questions: ['errors/outcomes', 'errors/codes', 'limits/rate'],
    about: 'Every refusal has the same code and no message; each connection is closed; members are in another order.',
    profile: { closeConnections: true, callsPerSecond: 50 },
    create: () => ({
      around: chain(
        changeErrors(() => ({ code: 1, message: '' })),
        changeJson(({ jsonrpc, ...envelope }) => ({ ...envelope, jsonrpc })),
        changeAnswers((answer) => ({ ...answer, headers: { ...answer.headers, server: '-' } })),
      ),
    }),
  },
]
