/** Which credentials a client may use where: parts 4.2 and 5 of the document. */
import { type Check, type Finding, finding, findingsOf } from '../check.ts'
import { textOf, textsOf } from '../story/rpc.ts'
import type { Request, Story } from '../story/story.ts'
import { judgedBySignatures } from './signature.ts'

const publicKeySignsOnly: Check = {
  id: 'keys/public-key-signs-only',
  level: 'document',
  title: 'A key with a public key is used for ECC signatures only',
  sentence:
    'An ED25519 public key: then only ECC signatures may be used with the key. Basic is not usable with an API key that has a public key',
  source: 'interface parts 2, 4.1 and 5.2',
  judge(evidence) {
    const { story } = evidence
    const bySignature = judgedBySignatures(publicKeySignsOnly.id as 'keys/public-key-signs-only', evidence)
    const ids = new Set(story.keys.flatMap(({ kind, id }) => (kind === 'public' ? [id] : [])))
    const findings = [...story.requests.flatMap((request) => secretUse(request, ids)), ...bySignature.findings]
    return { exercised: findings.length > 0 || bySignature.exercised, findings }
  },
}

function secretUse({ authorization, params, kind, exchange }: Request, ids: ReadonlySet<string>): Finding[] {
  return findingsOf(exchange, [
    authorization.kind === 'basic' && ids.has(authorization.credentials?.id ?? '')
      ? 'Basic credentials name a key that has a public key. Sign with its private key'
      : null,
    kind === 'grant' && ids.has(textOf(params?.apiKeyId) ?? '')
      ? 'A token is requested with a key that has a public key. Sign each call instead'
      : null,
  ])
}

const noAuthorization: Check = {
  id: 'grants/no-authorization',
  level: 'document',
  title: 'manager/auth is sent without an Authorization header',
  sentence: 'manager/auth is sent without an Authorization header; credentials are in the params',
  source: 'interface part 4.2',
  judge({ story }) {
    const requests = tokenRequests(story)
    const message = 'manager/auth has an Authorization header. Leave it out'
    const withHeader = requests.filter(({ authorization }) => authorization.kind !== 'none')
    return { exercised: requests.length > 0, findings: withHeader.map((request) => finding(message, request)) }
  },
}

const grantParams: Check = {
  id: 'grants/params',
  level: 'document',
  title: 'manager/auth has the params of its grant type',
  sentence:
    'api_key_credentials: scope (array of string), apiKeyId and apiKeySecret (string); refresh_token: refreshToken (string)',
  source: 'interface part 4.2',
  judge({ story }) {
    const requests = tokenRequests(story)
    return { exercised: requests.length > 0, findings: requests.flatMap(paramsFindings) }
  },
}

function paramsFindings({ exchange, params }: Request): Finding[] {
  const text = (name: string): string | null =>
    textOf(params?.[name]) === null ? `${name} is missing or not a string` : null
  const problems =
    params?.grantType === 'refresh_token'
      ? [text('refreshToken')]
      : params?.grantType === 'api_key_credentials'
        ? [
            textsOf(params.scope) === null ? 'scope is not an array of strings' : null,
            text('apiKeyId'),
            text('apiKeySecret'),
          ]
        : ['grantType is neither api_key_credentials nor refresh_token']
  const messages = problems.map((problem) => problem && `In the params of manager/auth ${problem}`)
  return findingsOf(exchange, messages)
}

const tokenRequests = ({ requests }: Story): Request[] =>
  requests.filter(({ kind }) => kind === 'grant' || kind === 'refresh')

export const keyAndGrantChecks: readonly Check[] = [publicKeySignsOnly, noAuthorization, grantParams]
