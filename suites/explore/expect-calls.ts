/** Calls that are sent only if the model can judge them, so that no open call uses up a place for a key. */
import { create } from './calls.ts'
import type { Explorer } from './explorer-types.ts'
import type { Auth, CallStep } from './step.ts'

/** @param publicKey of the key, if it has one */
export const creation = (auth: Auth, publicKey?: string): CallStep =>
  create(auth, { name: 'deviation-$unique', scope: ['solution'], ...(publicKey === undefined ? {} : { publicKey }) })

/** Makes a wrong call only if the model says that it must be refused. */
export const expectRefused = (x: Explorer, step: CallStep) => x.call(step, 'refused')

/** Makes a right call only if the model says that it must be accepted. */
export const expectAccepted = (x: Explorer, step: CallStep) => x.call(step, 'accepted')
