/** The errors for a target that cannot be used at all: what it answered, and what the user can check. */
import { SuiteError } from '../errors.ts'
import type { Classified } from '../judge/classify.ts'
import { printable } from '../printable.ts'
import { isUnavailable } from './target-facts.ts'

/** How long a command waited for the target to come up, in ms; null: the command has no `--wait`. */
type PatienceMs = number | null

/** The target did not answer. */
export function unreachableTarget(
  baseUrl: string,
  { reason, refusedConnection }: { reason: string; refusedConnection: boolean },
  patientMs: PatienceMs,
): SuiteError {
  const patience = refusedConnection ? `; is the server running?${afterWaiting(patientMs)}` : ''
  return new SuiteError('unreachable', `Cannot reach ${baseUrl}/api: ${printable(reason)}${patience}`)
}

function afterWaiting(patientMs: PatienceMs): string {
  if (patientMs === null) return ''
  return patientMs > 0 ? ` It did not come up within ${patientMs / 1000} s` : ` ${waitFlag}`
}

const waitFlag = '--wait SECONDS waits for it to come up'

interface RefusedKey {
  baseUrl: string
  keyId: string
  /** Each way to call with the key, and what became of it. */
  seen: readonly string[]
  /** The answer to a call without authorization. */
  first: Classified
  /** The last answer to the key. */
  last: Classified
  patientMs: PatienceMs
}

/** The target refuses the root key in every way. */
export function refusedRootKey(refused: RefusedKey): SuiteError {
  const { baseUrl, keyId, seen } = refused
  return new SuiteError(
    'unreachable',
    `Cannot use ${baseUrl}: it refuses the API key "${keyId}" in every way (${seen.join('; ')}); ${advice(refused)}`,
  )
}

function advice({ baseUrl, first, last, patientMs }: RefusedKey): string {
  const { status } = first
  if (last.outcome === 'broken' && isUnavailable(last.status)) {
    const wait = patientMs === null ? '' : ` ${waitFlag}`
    return `the answer from ${baseUrl}/api was HTTP ${last.status}, as from a proxy that cannot reach the service: is the service running?${wait}`
  }
  if (status === 404 || status === 405 || (status !== null && status >= 300 && status < 400))
    return `the answer from ${baseUrl}/api was HTTP ${status}: is the base URL right?${ifUrlHasApi(baseUrl)}`
  if (status === 403)
    return 'the answer was HTTP 403: check the key id and the secret, and whether something in front of the service refuses these calls (headers in the target file are sent with every call)'
  if (first.outcome === 'broken')
    return `the answer from ${baseUrl}/api is not JSON-RPC: is the base URL right, and is the service healthy?${ifUrlHasApi(baseUrl)}`
  return 'check the key id, the secret, whether the key has the scope solution, and --scheme if the deployment has another scheme word'
}

/** A user may have given the address of the calls instead of the base URL. */
function ifUrlHasApi(baseUrl: string): string {
  if (!baseUrl.endsWith('/api')) return ''
  return ` Calls go to {url}/api; did you mean --url ${baseUrl.slice(0, -'/api'.length)}?`
}
