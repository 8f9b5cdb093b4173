/** Calls that are sent only where the model has an opinion, so that no place for a key is lost to an open one. */
import { create } from './calls.ts'
import type { Explorer } from './explorer-types.ts'
import type { Auth, CallStep } from './step.ts'

export const creation = (auth: Auth): CallStep => create(auth, { name: 'deviation-$unique', scope: ['solution'] })

/** A wrong call, only where the model says that it must be kept out. */
export const keptOut = (x: Explorer, step: CallStep) => x.call(step, 'refused')

/** A right call, only where the model says that it must be accepted. */
export const letIn = (x: Explorer, step: CallStep) => x.call(step, 'accepted')
