import type { ServerContext } from '../../context.ts'
import { pairsOf } from '../../token-state.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

/** The releases of a server that follow each other; each has a form of tokens, and takes those of the others. */
const forms: readonly ((fresh: string) => string)[] = [
  (fresh) => fresh,
  (fresh) => `v2.${fresh.slice(0, 12)}.${fresh.slice(12)}`,
  (fresh) => Buffer.from(fresh).toString('hex').toUpperCase(),
  (fresh) => `~/${fresh}+/${fresh}==`,
]

/** How many access tokens of everyone are alive. */
function countAlive(context: ServerContext): number {
  const nowMs = context.now()
  return pairsOf(context).filter((pair) => !pair.accessRevoked && pair.accessExpiryMs > nowMs).length
}

/** Parts 3, 4.2 and 5.3: tokens that depend on when they were issued, and on what others have. */
export const twelfthTokenVariants: IndependentVariant[] = [
  // Part 4.2 calls tokens strings and shows no form, nor that it stays; part 3 not that a refresh begins a new lifetime.
  {
    id: 'form-of-tokens-changes-every-ten-seconds',
    questions: ['tokens/format', 'refresh/lifetime-renewed'],
    about: 'Tokens get another length and other characters with each release; older ones are taken as before.',
    profile: { refreshLifetime: 'kept' },
    create() {
      const held = holdContext()
      return {
        around: held.around,
        rules: {
          tokenText(_kind, fresh) {
            const release = Math.floor(held.get().now() / 10_000)
            return forms[release % forms.length]?.(fresh) ?? fresh
          },
        },
      }
    },
  },
  // Part 8: "Default and maximum lifetimes of access tokens [...]: not shown." An expiresIn is kept to the millisecond.
  {
    id: 'default-access-gets-shorter-the-more-tokens-are-alive',
    questions: ['limits/token-lifetimes', 'limits/live-tokens', 'refresh/expires-in-kept'],
    about: 'Half an hour is shared by all live access tokens of everyone, but each new one lives for a minute or more.',
    profile: { expiresInKept: false },
    create() {
      const held = holdContext()
      return {
        around: held.around,
        rules: {
          accessLifeMs: (expiresInMs) =>
            expiresInMs ?? Math.max(Math.floor(1_800_000 / (1 + countAlive(held.get()))), 60_000),
        },
      }
    },
  },
]
