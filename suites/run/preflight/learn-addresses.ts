import { makeCall } from '../../engine/conversation/call.ts'
import type { Caller } from '../../engine/conversation/caller.ts'
import type { TargetFacts } from '../../engine/conversation/target-facts.ts'
import { accessTokenOf } from '../../engine/conversation/test-keys.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { SecondAddressProblem } from '../../engine/judge/problem.ts'
import type { Auth, SafetyClass } from '../../engine/language/fixture-types.ts'
import { call, grant, grantParams, listSolutions } from './calls.ts'

/**
 * Finds our address as the server sees it: the declared one, or the first likely one for which a token works. A server in a container does
 * not see 127.0.0.1.
 */
async function learnAddress(caller: Caller, allow: readonly SafetyClass[]): Promise<void> {
  const { clientAddress, likelyAddresses = [] } = caller.instance.settings
  const canGrant = allow.includes('sessions') && caller.instance.root.kind === 'secret'
  const [likeliest] = likelyAddresses
  const known = clientAddress ?? (canGrant ? undefined : likeliest)
  if (known !== undefined) caller.facts.clientAddress = known
  for (const address of known === undefined ? likelyAddresses : []) {
    const token = accessTokenOf(await grant(caller, ['solution', `ipAddr:${address}`]))
    if (token === undefined) continue
    const { answer: used } = await call(caller, { token })
    if (used.outcome !== 'accepted') continue
    caller.facts.clientAddress = address
    return
  }
}

/**
 * Tries the second local address. It counts only if the server receives its calls and sees the address: through a proxy all calls come from
 * one address.
 */
async function trySecondAddress(caller: Caller, allow: readonly SafetyClass[]): Promise<void> {
  const address = caller.instance.settings.secondAddress
  if (address === undefined) return
  const stop = await secondAddressProblem(caller, address, allow)
  if (stop === undefined) caller.facts.secondAddress = address
  else caller.facts.secondAddressProblem = stop
}

/** Finds out both addresses; the calls for one need not wait for those for the other, unless a grant ends the token of the one before. */
export async function learnAddresses(caller: Caller, allow: readonly SafetyClass[]): Promise<void> {
  const { facts } = caller
  await together(facts, [() => learnAddress(caller, allow), () => trySecondAddress(caller, allow)])
  if (facts.secondAddress === undefined || facts.secondAddress !== facts.clientAddress) return
  facts.secondAddressProblem = { kind: 'same-address', address: facts.secondAddress }
  delete facts.secondAddress
}

/** Runs all at the same time; one after the other where a grant without a session ends the previous one. */
async function together<T>({ unnamedReplaced }: TargetFacts, runs: readonly (() => Promise<T>)[]): Promise<T[]> {
  if (unnamedReplaced !== true) return Promise.all(runs.map((run) => run()))
  const results: T[] = []
  for (const run of runs) results.push(await run())
  return results
}

async function secondAddressProblem(
  caller: Caller,
  address: string,
  allow: readonly SafetyClass[],
): Promise<SecondAddressProblem | undefined> {
  if (address === caller.facts.clientAddress) {
    return { kind: 'same-address', address }
  }
  const fromSecond = (spec: { method: string; params: unknown; auth: Auth }): Promise<Called> =>
    makeCall(caller, { ...spec, from: 'second-address' })
  const { answer: first } = await fromSecond({ method: listSolutions, params: {}, auth: 'none' })
  if (first.status === null) {
    const reason = first.outcome === 'broken' ? first.reason : 'no answer'
    return { kind: 'no-answer', address, reason }
  }
  if (!allow.includes('sessions') || caller.instance.root.kind !== 'secret') return undefined
  const worksThere = async (scope: string[]): Promise<boolean> => {
    const granted = await fromSecond({ method: 'manager/auth', params: grantParams(caller, scope), auth: 'none' })
    const token = accessTokenOf(granted)
    if (token === undefined) return false
    const { answer } = await fromSecond({ method: listSolutions, params: {}, auth: { token } })
    return answer.outcome === 'accepted'
  }
  // On a target that is far away, asking the second one only after the first one has failed would take as long again.
  const [bound, unbound] = await together(caller.facts, [
    () => worksThere(['solution', `ipAddr:${address}`]),
    () => worksThere(['solution']),
  ])
  if (bound) return undefined
  return { kind: unbound ? 'seen-as-another' : 'no-token-accepted', address }
}
