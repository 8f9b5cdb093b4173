/**
 * Judges refused creations of keys. Where it is not known how many places are free, each of them is open; a creation that differs in one thing
 * and is accepted right after shows that a place was free.
 */
import { describeStep } from './describe-step.ts'
import type { Explorer } from './explorer-types.ts'
import { byRoot } from './keyring.ts'
import type { CallStep } from './step.ts'

interface RefusedCreation {
  readonly step: CallStep
  /** Index of its log entry. */
  readonly entry: number
  readonly script: string
  /** Nothing but the number of free places may justify the refusal. */
  readonly isAboutPlaces: boolean
}

/** The refused creations from this entry of the log on. */
const refusedSince = (x: Explorer, from: number): RefusedCreation[] =>
  x.log.slice(from).flatMap(({ step, seen: [only], script }, at) => {
    if (step.do !== 'call' || step.method !== 'manager/createApiKey' || only?.answer.kind !== 'refused') return []
    return [{ step, entry: from + at, script, isAboutPlaces: only.verdict.requirement.startsWith('limits/') }]
  })

/** keys/create-authorized: root creates the very same key. @param from the first entry of the log to look at */
export async function compareCreators(x: Explorer, from: number): Promise<void> {
  for (const { step, entry, script, isAboutPlaces } of refusedSince(x, from)) {
    if (!isAboutPlaces || ('who' in step.auth && step.auth.who === 'root')) continue
    const control = await x.call({ ...step, auth: byRoot(x) })
    if (control?.answer.kind !== 'accepted') return
    const message = `${describeStep(step)} was refused, and accepted right after with the authorization of root`
    const found = { requirement: 'keys/create-authorized', level: 'must', message, kind: 'refused' } as const
    x.report({ ...found, fact: 'creation', entry, script })
    return
  }
}

/** The key that shows that a place was free. */
const control = 'without-public-key'

/** keys/public-key: root creates the very same key without its public key. @param from the first entry of the log to look at */
export async function compareWithoutPublicKey(x: Explorer, from: number): Promise<void> {
  const refused = refusedSince(x, from)
  const last = refused.findLast(({ isAboutPlaces }) => isAboutPlaces)
  // One refusal alone may be due to a limit of rates.
  if (refused.length < 2 || last === undefined || x.names.has(control)) return
  const { step, entry, script } = last
  const { publicKey: _, ...params } = step.params
  const name = 'plain-$unique'
  const seen = await x.call({ ...step, params: { ...params, name }, auth: byRoot(x), as: control })
  if (seen?.answer.kind !== 'accepted') return
  const message = `${describeStep(step)} was refused, and accepted right after without its public key`
  x.report({ requirement: 'keys/public-key', level: 'must', message, kind: 'refused', fact: 'creation', entry, script })
}
