/** Finds out what the target's words are: the token prefix, the spelling of apikey, the clock of its tokens, a second address. */
import { basic, ecc, grant, hmac, list, token } from './calls.ts'
import type { Explorer } from './explorer.ts'
import { everyScope, freshName } from './people.ts'

/** Whether the root key is let in at all. */
export async function greet(x: Explorer): Promise<boolean> {
  x.script = 'preflight'
  const ways = x.names.get('root')?.seed === undefined ? [basic('root'), hmac('root')] : [ecc('root')]
  let letIn = false
  for (const auth of ways) letIn = (await x.call(list(auth)))?.answer.kind === 'accepted' || letIn
  return letIn
}

/** Learns how tokens are used here. @param who a key without public key */
export async function learnTokens(x: Explorer, who: string, prefix: string | undefined): Promise<boolean> {
  x.script = 'preflight'
  const first = freshName(x)
  await x.call(grant(who, ['solution', 'expiresIn:15000'], { as: first }))
  if (!x.lines.has(first)) await x.call(grant(who, ['solution'], { as: first }))
  if (!x.lines.has(first)) return false
  // A second number: a constant error in what is reported shows only beside another.
  await x.call(grant(who, ['solution', 'expiresIn:7000']))
  const reported = (x.names.get(first) as { tokenType?: unknown }).tokenType
  const words = [prefix, 'Bearer', typeof reported === 'string' ? reported : undefined, 'Token', '']
  for (const word of prefix === undefined ? new Set(words) : new Set([prefix])) {
    if (word === undefined) continue
    x.setTerms({ tokenPrefix: word })
    if ((await x.call(list(token(first))))?.answer.kind === 'accepted') return learnWords(x, who)
  }
  return learnWords(x, who)
}

/** Which scope words are granted. */
async function learnWords(x: Explorer, who: string): Promise<boolean> {
  for (const word of everyScope) {
    const restricted = word === 'solution' || word === 'context' || word === 'solution:*'
    if (!restricted) await x.call(grant(who, ['solution', word]))
  }
  return true
}

/** Whether a call from the second address arrives. */
export async function tryAddress(x: Explorer, name: string, who: string): Promise<boolean> {
  const auth = x.names.get(who)?.seed === undefined ? basic(who) : ecc(who)
  const seen = await x.call(list(auth, { from: name, connection: 'new' }))
  return seen?.answer.kind === 'accepted'
}
