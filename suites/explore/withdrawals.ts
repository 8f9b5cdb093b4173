/** Learns after which misuses of a token the target refuses it, and others, for good (errors/outcomes): the document does not show that. */
import type { Misuse } from '../engine/model/state.ts'
import { changed, list, refresh, token } from './calls.ts'
import { creation, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { freshName, granted } from './keyring.ts'
import type { CallStep } from './step.ts'

interface Trial {
  readonly misuse: Misuse
  readonly scope: readonly string[]
  /** undefined: it cannot be tried here. */
  wrong(pair: string): CallStep | undefined
}

/** @param who a key to request tokens with; `keys`: whether keys may be created */
export async function learnWithdrawals(x: Explorer, who: string, keys: boolean): Promise<void> {
  x.script = 'preflight'
  const found = new Set<Misuse>()
  // As long as it is not known, no refusal after a misuse means anything.
  x.setTerms({ withdraws: new Set(['address', 'scope', 'kind', 'altered', 'reuse']) })
  for (const { misuse, scope, wrong } of trials(x, keys)) {
    const pair = await granted(x, { who, scope })
    const step = pair === undefined ? undefined : wrong(pair)
    if (pair === undefined || step === undefined || !(await works(x, pair))) continue
    await expectRefused(x, step)
    if (!(await works(x, pair))) found.add(misuse)
  }
  if (await endsOthers(x, who)) found.add('reuse')
  x.setTerms({ withdraws: found })
}

function trials({ addresses: [, second] }: Explorer, keys: boolean): readonly Trial[] {
  const late = { field: 'param refreshToken', operation: 'late-changed' }
  return [
    {
      misuse: 'address',
      scope: ['solution', 'ipAddr:'],
      wrong: (pair) => (second === undefined ? undefined : list(token(pair), { from: second.name })),
    },
    { misuse: 'scope', scope: ['solution'], wrong: (pair) => (keys ? creation(token(pair)) : undefined) },
    { misuse: 'kind', scope: ['solution'], wrong: (pair) => list({ kind: 'token', token: `$${pair}.refreshToken` }) },
    {
      misuse: 'kind',
      scope: ['solution'],
      wrong: (pair) => changed(refresh(pair), { field: 'param refreshToken', place: `$${pair}.accessToken` }),
    },
    { misuse: 'altered', scope: ['solution'], wrong: (pair) => changed(refresh(pair), late) },
  ]
}

const works = async (x: Explorer, pair: string): Promise<boolean> =>
  (await x.call(list(token(pair))))?.answer.kind === 'accepted'

/** Whether a refresh token that is used again ends another pair of its key, too. */
async function endsOthers(x: Explorer, who: string): Promise<boolean> {
  const used = await granted(x, { who, scope: ['solution'] })
  if (used === undefined) return false
  await x.call(refresh(used, { as: freshName(x) }))
  const other = await granted(x, { who, scope: ['solution', 'context'] })
  if (other === undefined || !(await works(x, other))) return false
  await expectRefused(x, refresh(used))
  return !(await works(x, other))
}
