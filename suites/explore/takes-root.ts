/** Whether a refusal may have another reason than the one that it seems to have: a server may be closed to our address for a while. */
import { countAnswer } from './answer.ts'
import { list } from './calls.ts'
import { type Core, transmit, tryRender } from './core.ts'
import { byRoot } from './keyring.ts'

/** @returns whether the root key lists solutions now, from an address of ours; true if no call is left to ask */
export async function takesRoot(core: Core, from?: string): Promise<boolean> {
  const control = list(byRoot(core.shown), { connection: 'new', ...(from === undefined ? {} : { from }) })
  const rendered = tryRender(core, control)
  if (rendered === null || core.calls >= core.limit) return true
  const { response } = await transmit(core, control, rendered)
  return countAnswer(response).kind === 'accepted'
}
