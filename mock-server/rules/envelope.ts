import type { Profile } from '../profile.ts'

/** What the server decides about a request before it knows who calls. */
export const envelopeRules = {
  /** envelope/post-api: a call is a POST to {base_url}/api and nothing else. `path` has no query. */
  isCall: (httpMethod: string, path: string, callPath: string, _body: Buffer): boolean =>
    httpMethod === 'POST' && path === callPath,

  /** envelope/json-body: application/json is accepted; other types are an open question. */
  contentTypeTaken: (contentType: string | undefined, profile: Profile): boolean =>
    profile.contentType === 'ignored' || /^application\/json\s*(;|$)/i.test(contentType ?? ''),

  /** envelope/malformed-answered: the body is JSON. Throws for anything else. */
  parseBody: (text: string): unknown => JSON.parse(text),

  /** envelope/malformed-answered: the result for a body that is not JSON; undefined: it is refused. */
  malformedResult: (): object | undefined => undefined,

  /** envelope/malformed-answered: the server answers after a body that was not JSON. */
  answersAfterMalformed: (): boolean => true,

  /** envelope/request-members: jsonrpc is "2.0". */
  versionMemberTaken: (value: unknown, profile: Profile): boolean => value === '2.0' || !profile.strictEnvelope,

  /** envelope/request-members: id is an integer (whether strings and fractions are taken is an open question). */
  idTaken: (value: unknown, profile: Profile): boolean =>
    profile.idTypes === 'any' ||
    (typeof value === 'number' && (profile.idTypes !== 'integers' || Number.isInteger(value))) ||
    (typeof value === 'string' && profile.idTypes === 'strings-and-numbers'),

  /** envelope/request-members: id is required. */
  missingIdTaken: (profile: Profile): boolean => profile.notifications !== 'refused',

  /** envelope/request-members: method is a string. */
  methodMemberTaken: (value: unknown): value is string => typeof value === 'string',

  /** envelope/request-members, envelope/empty-params: params is an object, {} if the method takes no parameters. */
  paramsTaken: (value: unknown, profile: Profile): boolean =>
    (typeof value === 'object' && value !== null && !Array.isArray(value)) ||
    (!profile.strictEnvelope && (value === undefined || value === null || Array.isArray(value))),

  /** envelope/method-names: the name of the method that a call names. */
  methodName: (name: string): string => name,

  /** envelope/unknown-method: the result for an unknown method; undefined: it is refused. */
  unknownMethodResult: (_name: string): object | undefined => undefined,

  /** envelope/response-jsonrpc: the `jsonrpc` of a successful answer; undefined leaves it out. */
  answerVersion: (): unknown => '2.0',

  /** envelope/id-echo: the `id` of a successful answer; undefined leaves it out. */
  echoedId: (id: unknown): unknown => id,

  /** envelope/result-object: the `result` of a successful answer. */
  resultMember: (_method: string, result: unknown): unknown => result,
}
