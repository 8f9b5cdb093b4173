import type { Caller } from '../../engine/case/caller.ts'
import { isUnavailable } from '../../engine/case/unavailable.ts'
import { SuiteError } from '../../engine/errors.ts'
import type { Auth, SafetyClass } from '../../engine/fixture/fixture-types.ts'
import { membersOf } from '../../engine/json.ts'
import type { Called } from '../../engine/judge/called.ts'
import { describe } from '../../engine/judge/classify.ts'
import { printable } from '../../engine/printable.ts'
import { call, grant } from './calls.ts'

const basicRoot: Auth = { basic: 'root' }

/**
 * Calls with the root key in every way that may work; one accepted call is enough to go on.
 *
 * @param first the call without any authorization
 * @throws SuiteError (`unreachable`, exit code 3) if the key is refused in every way
 */
export async function tryRootKey(caller: Caller, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const { root } = caller.instance
  const ways: [string, Auth][] =
    root.kind === 'secret'
      ? [
          ['Basic credentials', basicRoot],
          ['a signature', { hmac: 'root' }],
        ]
      : [['a signature', { ecc: 'root' }]]
  const seen: string[] = []
  let last = first.answer
  for (const [way, auth] of ways) {
    const { answer } = await call(caller, auth)
    if (answer.outcome === 'accepted') {
      if (root.kind === 'secret') caller.facts.keyWay = auth === basicRoot ? 'basic' : 'hmac'
      return
    }
    if (answer.outcome === 'unread') throw tooLong(caller, answer.limitBytes)
    // The target accepts nothing, which the cases will report.
    if (answer.outcome === 'refused' && hasResult(answer.json)) return
    seen.push(printable(`${way}: ${describe(answer)}`))
    last = answer
  }
  if (allow.includes('sessions') && root.kind === 'secret') {
    const { answer } = await grant(caller, ['solution'])
    if (answer.outcome === 'accepted') return
    seen.push(printable(`a grant: ${describe(answer)}`))
  }
  throw new SuiteError(
    'unreachable',
    `Cannot use ${caller.instance.baseUrl}: it refuses the API key "${root.id}" in every way (${seen.join('; ')}); ${advice(caller, first.answer, last)}`,
  )
}

/** What the answers may mean: the first, which carried no authorization, and the last one to the root key. */
function advice({ instance: { baseUrl } }: Caller, answer: Called['answer'], last: Called['answer']): string {
  const { status } = answer
  if (last.outcome === 'broken' && isUnavailable(last.status))
    return `the answer from ${baseUrl}/api was HTTP ${last.status}, as from a proxy that cannot reach the service: is the service running? --wait SECONDS waits for it to come up`
  if (status === 404 || status === 405 || (status !== null && status >= 300 && status < 400))
    return `the answer from ${baseUrl}/api was HTTP ${status}: is the base URL right?`
  if (status === 403)
    return 'the answer was HTTP 403: check the key id and the secret, and whether something in front of the service refuses these calls (headers in the target file are sent with every call)'
  if (answer.outcome === 'broken')
    return `the answer from ${baseUrl}/api is not JSON-RPC: is the base URL right, and is the service healthy?`
  return 'check the key id, the secret, whether the key has the scope solution, and --scheme if the deployment has another scheme word'
}

const hasResult = (json: unknown): boolean => (membersOf(json).result ?? null) !== null

function tooLong({ instance }: Caller, limitBytes: number): SuiteError {
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: its first answer to solution/listSolutions is longer than ${limitBytes} bytes; raise maxAnswerBytes in the target file`,
  )
}
