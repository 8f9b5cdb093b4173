/** Tokens that may manage contexts under one solution only, where the target file names a method and two solutions for it. */

import type { Json } from '../engine/signer/changed-call.ts'
import { grant, refresh, token } from './calls.ts'
import { expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { freshName, granted } from './keyring.ts'
import type { CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** What a token for one solution may have beside. */
const company: readonly (readonly string[])[] = [
  [],
  ['session:'],
  ['ipAddr:'],
  ['expiresIn:15000'],
  ['solution'],
  ['session:', 'ipAddr:', 'expiresIn:15000'],
  ['solution', 'thread', 'session:'],
]

/** How often a token is refreshed. */
const refreshes = 2

/** scopes/solution-id, refresh/scopes-kept. @param who a key with every scope */
export async function oneSolutionOnly({ x }: Caller, who: string): Promise<void> {
  x.script = 'one-solution'
  const [own, other] = x.options.solutions.filter((id) => /^[\w-]+$/.test(id))
  if (x.options.solutionProbe === undefined || own === undefined || other === undefined) return
  for (const words of company) {
    let pair = await granted(x, { who, scope: ['context', ...words, `solution:${own}`] })
    for (let turn = 0; pair !== undefined && turn <= refreshes; turn++) {
      await x.call(contextsOf(x, pair, own))
      await expectRefused(x, contextsOf(x, pair, other))
      const next = freshName(x)
      await x.call(refresh(pair, { as: next }))
      pair = x.lines.has(next) ? next : undefined
    }
  }
  for (const beginning of [own.slice(0, -1), own.slice(0, 4)]) {
    // A server may compare only the beginnings of ids.
    const pair = freshName(x)
    await x.call(grant(who, ['context', `solution:${beginning}`], { as: pair }))
    if (x.lines.has(pair)) await expectRefused(x, contextsOf(x, pair, own))
  }
}

/** The declared call for the contexts of a solution. */
function contextsOf({ options: { solutionProbe } }: Explorer, pair: string, solution: string): CallStep {
  const { method = '', params = {}, path = [] } = solutionProbe ?? {}
  return { do: 'call', method, params: withValue(params, path, solution) as CallStep['params'], auth: token(pair) }
}

function withValue(value: Json | CallStep['params'], [name, ...rest]: readonly string[], instead: string): Json {
  if (name === undefined) return instead
  const members = value as { readonly [name: string]: Json }
  return { ...members, [name]: withValue(members[name] ?? {}, rest, instead) }
}
