/** What may explain a refusal that should have been an acceptance. Only ever a hint, never a verdict. */

import type { CaseStop } from '../judge/attempt.ts'
import type { Hint } from '../judge/problem.ts'
import type { Auth } from '../language/fixture-types.ts'
import type { Caller } from './caller.ts'
import { isPerhapsNotFresh } from './full-target.ts'
import type { Tried } from './record-case.ts'
import { namesIn } from './test-case.ts'
import { isRefusedInstead } from './watch-target.ts'

export async function explainRefusal(tried: Tried): Promise<Hint | undefined> {
  if (isPerhapsNotFresh(tried.caller, tried.attempt)) return { kind: 'perhaps-not-fresh' }
  return addressHint(tried) ?? (await diagnose(tried))
}

/** If the user is wrong about the address that the target sees, every token bound to that address is refused. */
function addressHint({ caller, attempt, scenario, testCase }: Tried): Hint | undefined {
  const { run, instance } = caller
  const { clientAddress } = instance.settings
  if (!run.target.lasting || clientAddress === undefined || !attempt.stops.some(isRefusedInstead)) return undefined
  return namesIn(scenario, testCase).has('client') ? { kind: 'client-address', address: clientAddress } : undefined
}

/** For a refused signature: which deliberate mistake does the server accept? For a refused token: is its prefix wrong? */
async function diagnose({ caller, attempt }: Tried): Promise<Hint | undefined> {
  // A call that came too late, or after what it rests on was gone, was refused for that reason.
  const stop = attempt.stops.find(
    ({ kind, called }) =>
      kind !== 'too-late' && kind !== 'preparation-lost' && called.some(({ answer }) => answer.outcome === 'refused'),
  )
  const auth = stop === undefined ? undefined : authOf(stop)
  const refused = stop?.called.find(({ answer }) => answer.outcome === 'refused')
  if (auth === undefined || refused === undefined) return undefined
  if (typeof auth !== 'object' || !('token' in auth)) {
    const quiet = unheard(caller)
    const hint = await caller.run.diagnose?.signature(quiet, auth, refused.request)
    caller.calls = quiet.calls
    return hint
  }
  return auth.but === undefined ? caller.run.diagnose?.token(caller) : undefined
}

/** The model does not hear of the calls of a hint: what they show is the cause of a failure that is reported. */
const unheard = (caller: Caller): Caller => ({
  ...caller,
  emit: (event) => {
    if (event.kind !== 'exchange-begun' && event.kind !== 'exchange-made') caller.emit(event)
  },
})

function authOf({ step }: CaseStop): Auth | undefined {
  return 'call' in step &&
    step.expect === 'accepted' &&
    step.call === 'solution/listSolutions' &&
    step.alter === undefined
    ? step.auth
    : undefined
}
