/** Calls that are sent only if the model can judge what comes of them, so that no open call uses up a place for a key. */
import { create } from './calls.ts'
import type { Explorer, Seen } from './explorer-types.ts'
import type { Auth, CallStep } from './step.ts'

/** @param publicKey of the key, if it has one */
export const creation = (auth: Auth, publicKey?: string): CallStep =>
  create(auth, { name: 'deviation-$unique', scope: ['solution'], ...(publicKey === undefined ? {} : { publicKey }) })

/** Makes a wrong call only if the model says that it must be refused. */
export const expectRefused = (x: Explorer, step: CallStep) => x.call(step, 'refused')

/**
 * Makes a right call only if the model says that it must be accepted. A listing is made also where wrong calls before may have locked the key, or a
 * misuse may have ended the token: if it is accepted, what follows can be judged again.
 */
export async function expectAccepted(x: Explorer, step: CallStep): Promise<Seen | null> {
  const verdict = x.foresee(step)
  const mayHaveEnded = verdict?.is === 'open' && doubts.includes(verdict.requirement)
  return x.call(step, mayHaveEnded && step.method === 'solution/listSolutions' ? 'open' : 'accepted')
}

/** What is in doubt after wrong calls with a key, or with a token. */
const doubts: readonly string[] = ['keys/created-key-works', 'refresh/new-pair']
