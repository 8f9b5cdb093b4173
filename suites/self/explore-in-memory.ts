import { bareSettings } from '../engine/target.ts'
import { type Exploration, type ExploreOptions, explore } from '../explore/explore.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import type { createHandler } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'

/** Explores a server in memory, as `explore --disposable` does. @param more what differs from an exploration of three walks */
export async function exploreInMemory(
  { handle, context }: Pick<ReturnType<typeof createHandler>, 'handle' | 'context'>,
  { controlled = true, ...more }: Partial<ExploreOptions> & { maxCalls: number; controlled?: boolean },
): Promise<Exploration> {
  const { id, secret } = context.root
  const root = { kind: 'secret', id, secret } as const
  const instance = memoryInstance({ handle, clock: context.clock, root, settings: bareSettings })
  const { requirements } = await openCorpus()
  return explore({
    instance: { ...instance, clock: { ...instance.clock, controlled } },
    allow: { sessions: true, keys: true, limits: true },
    fresh: true,
    loopback: true,
    seed: 1,
    seconds: 600,
    walks: 3,
    requirements,
    say: () => {},
    ...more,
  })
}
