import type { IndependentVariant } from '../independent-variant.ts'

/** The result of solution/listSolutions in another shape. */
const listing =
  (shape: (list: { id: string; name: string }[]) => object): NonNullable<IndependentVariant['create']> =>
  () => ({
    rules: {
      resultMember(method, result) {
        if (method !== 'solution/listSolutions') return result
        return shape((result as { list: { id: string; name: string }[] }).list)
      },
    },
  })

/** Parts 1 and 4.3: which envelopes are accepted, and what a listing looks like. */
export const envelopeVariants: IndependentVariant[] = [
  {
    id: 'envelope-strict',
    questions: ['envelope/id-types', 'envelope/extra-members', 'envelope/content-type', 'grants/authorization-header'],
    about: 'Only integers as ids, only application/json, no further members, no Authorization header on manager/auth.',
    profile: {
      idTypes: 'integers',
      extraMembers: 'refused',
      contentType: 'json-only',
      authHeaderOnGrant: 'refused',
    },
  },
  {
    id: 'envelope-loose',
    questions: [
      'envelope/jsonrpc-version',
      'envelope/params-type',
      'envelope/batch',
      'envelope/missing-id',
      'envelope/id-types',
    ],
    about: 'Any id, any version, batches, notifications that are answered, and params that are no object.',
    profile: {
      strictEnvelope: false,
      idTypes: 'any',
      batch: 'answered',
      notifications: 'answered',
      extraParams: 'ignored',
    },
  },
  {
    id: 'envelope-notifications-without-body',
    questions: ['envelope/missing-id', 'envelope/batch', 'errors/id'],
    profile: { notifications: 'no-body', batch: 'answered', errorId: 'null' },
  },
  {
    id: 'envelope-integer-ids-errors-without-id',
    questions: ['envelope/id-types', 'errors/id'],
    about: 'Ids are integers only, and an error has no id.',
    profile: { idTypes: 'integers', errorId: 'none' },
  },
  {
    id: 'envelope-content-type-required-with-statuses',
    questions: ['envelope/content-type', 'errors/http-status', 'errors/shape'],
    about: 'Another content type gets 415, and refusals are text with an HTTP status.',
    profile: { contentType: 'json-only', errorBody: 'text' },
  },
  {
    id: 'list-by-id',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'The listing is an object with a member for each solution id.',
    create: listing((list) => Object.fromEntries(list.map(({ id, name }) => [id, { name }]))),
  },
  {
    id: 'list-in-pages',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'The listing is nested: data, page and an array of names.',
    create: listing((list) => ({ data: { page: { index: 0, more: false }, names: list.map(({ name }) => name) } })),
  },
  {
    id: 'list-empty-object',
    questions: ['solutions/list-result'],
    about: 'The listing shows nothing to anybody: an empty object.',
    create: listing(() => ({})),
  },
  {
    id: 'list-with-error-word',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'The listing has members named error, code, message and result.',
    create: listing((list) => ({
      result: list,
      error: null,
      code: 401,
      message: 'Unauthorized',
      jsonrpc: '1.0',
      id: -1,
    })),
  },
  {
    id: 'results-with-further-members',
    questions: ['keys/create-result-extras', 'solutions/list-result', 'grants/extra-params'],
    about: 'Every result has further members, and further params of manager/auth are ignored.',
    profile: { extraResultMembers: true, listShape: 'counted', extraParams: 'ignored' },
    create: () => ({
      rules: {
        grantResult: (result) => ({ ...result, expires_in: 900, token_type: 'bearer', sessionId: null, apiKey: {} }),
        refreshResult: (result) => ({ ...result, expires_in: 900, token_type: 'bearer', sessionId: null, apiKey: {} }),
      },
    }),
  },
]
