import type { Auth } from './fixture/model.ts'
import type { Seat } from './seat.ts'
import { classicMistakes } from './signer/classic.ts'
import { makeCall } from './steps/call.ts'

/**
 * After a right signature was refused: sends it again with each classic mistake, a fresh nonce each, and says which one the
 * server takes. Only ever a hint, never a verdict; done once per run and kind of key.
 */
export function diagnoseTarget(seat: Seat, auth: Auth): Promise<string | undefined> {
  const signed = signedBy(auth)
  if (signed === undefined) return Promise.resolve(undefined)
  const { kind, member } = signed
  const known = seat.run.diagnoses.get(kind)
  if (known !== undefined) return known
  const found = tryMistakes(seat, kind, member)
  seat.run.diagnoses.set(kind, found)
  return found
}

function signedBy(auth: Auth): { kind: 'hmac' | 'ecc'; member: string } | undefined {
  if (typeof auth !== 'object' || 'but' in auth) return undefined
  // A key that a row made itself is known to that row only.
  if ('hmac' in auth) return auth.hmac.startsWith('$') ? undefined : { kind: 'hmac', member: auth.hmac }
  return 'ecc' in auth && !auth.ecc.startsWith('$') ? { kind: 'ecc', member: auth.ecc } : undefined
}

function unexplained(scheme: string): string {
  return `No classic mistake explains it. Is "${scheme}" the scheme word of this deployment (--scheme)? "svc-conformance sign" shows every stage of a right signature.`
}

async function tryMistakes(seat: Seat, kind: 'hmac' | 'ecc', member: string): Promise<string | undefined> {
  for (const { mistake, hint } of classicMistakes(kind)) {
    const auth = (kind === 'hmac' ? { hmac: member, but: mistake } : { ecc: member, but: mistake }) as Auth
    const { answer } = await makeCall(seat, { method: 'solution/listSolutions', params: {}, auth })
    if (answer.outcome === 'accepted') return hint
    if (seat.run.stopped !== null) return undefined
  }
  return seat.knowledge.openGates.length === 0 ? unexplained(seat.instance.settings.scheme) : undefined
}
