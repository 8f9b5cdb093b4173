import { makeCall } from '../../engine/case/call.ts'
import type { Client } from '../../engine/case/client.ts'
import type { Auth, SafetyClass } from '../../engine/fixture/fixture-types.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { SecondAddressProblem } from '../../engine/judge/problem.ts'
import { accessTokenOf, call, grant, grantParams, listSolutions } from './calls.ts'

/**
 * Finds our address as the server sees it: the declared one, or the first likely one for which a token works. A server in a container does
 * not see 127.0.0.1.
 */
export async function learnAddress(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  const { clientAddress, likelyAddresses = [] } = client.instance.settings
  const canAsk = allow.includes('sessions') && client.instance.root.kind === 'secret'
  const [likeliest] = likelyAddresses
  const known = clientAddress ?? (canAsk ? undefined : likeliest)
  if (known !== undefined) client.facts.clientAddress = known
  for (const address of known === undefined ? likelyAddresses : []) {
    const token = accessTokenOf(await grant(client, ['solution', `ipAddr:${address}`]))
    if (token === undefined) continue
    const { answer: used } = await call(client, { token })
    if (used.outcome !== 'accepted') continue
    client.facts.clientAddress = address
    return
  }
}

/**
 * Tries the second local address. It counts only if the server receives its calls and sees the address: behind a proxy all calls come from
 * one address.
 */
export async function trySecondAddress(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  const address = client.instance.settings.secondAddress
  if (address === undefined) return
  const stop = await secondAddressProblem(client, address, allow)
  if (stop === undefined) client.facts.secondAddress = address
  else client.facts.secondAddressProblem = stop
}

async function secondAddressProblem(
  client: Client,
  address: string,
  allow: readonly SafetyClass[],
): Promise<SecondAddressProblem | undefined> {
  if (address === client.facts.clientAddress) {
    return { kind: 'same-address', address }
  }
  const fromSecond = (spec: { method: string; params: unknown; auth: Auth }): Promise<Called> =>
    makeCall(client, { ...spec, from: 'second-address' })
  const { answer: heard } = await fromSecond({ method: listSolutions, params: {}, auth: 'none' })
  if (heard.status === null) {
    const reason = heard.outcome === 'broken' ? heard.reason : 'no answer'
    return { kind: 'no-answer', address, reason }
  }
  if (!allow.includes('sessions') || client.instance.root.kind !== 'secret') return undefined
  const worksThere = async (scope: string[]): Promise<boolean> => {
    const granted = await fromSecond({ method: 'manager/auth', params: grantParams(client, scope), auth: 'none' })
    const token = accessTokenOf(granted)
    if (token === undefined) return false
    const { answer } = await fromSecond({ method: listSolutions, params: {}, auth: { token } })
    return answer.outcome === 'accepted'
  }
  if (await worksThere(['solution', `ipAddr:${address}`])) return undefined
  return (await worksThere(['solution']))
    ? { kind: 'seen-as-another', address }
    : { kind: 'no-token-accepted', address }
}
