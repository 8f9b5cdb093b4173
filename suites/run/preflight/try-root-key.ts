import type { Caller } from '../../engine/conversation/caller.ts'
import { refusedRootKey } from '../../engine/conversation/unusable-target.ts'
import { SuiteError } from '../../engine/errors.ts'
import { membersOf } from '../../engine/json.ts'
import type { Called } from '../../engine/judge/called.ts'
import { describe } from '../../engine/judge/classify.ts'
import type { Auth, SafetyClass } from '../../engine/language/fixture-types.ts'
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
  const { baseUrl } = caller.instance
  throw refusedRootKey({ baseUrl, keyId: root.id, seen, first: first.answer, last, patientMs: 0 })
}

const hasResult = (json: unknown): boolean => (membersOf(json).result ?? null) !== null

function tooLong({ instance }: Caller, limitBytes: number): SuiteError {
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: its first answer to solution/listSolutions is longer than ${limitBytes} bytes; raise maxAnswerBytes in the target file`,
  )
}
