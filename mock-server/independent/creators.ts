import type { ApiKey } from '../state.ts'
import { namedKeyId } from './requests.ts'
import type { Watch } from './watch.ts'

/** The key that makes the call being answered: the one that it names, or that of its token. `seen` must note pairs. */
export function callerOf(seen: Pick<Watch<object>, 'context' | 'request' | 'pair'>): ApiKey | undefined {
  return seen.pair?.key ?? seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
}

/** Whether the call being answered names a key with a public key in its signature. */
export function isSignedWithPublicKey(seen: Pick<Watch<object>, 'context' | 'request' | 'pair'>): boolean {
  return seen.pair === undefined && callerOf(seen)?.publicKey !== undefined
}
