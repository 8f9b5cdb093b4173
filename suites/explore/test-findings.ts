/** Runs single sequences of the model against servers in memory, and tells what they find. For tests. */
import { readDeviations } from '../engine/language/deviations.ts'
import { seededRandom } from '../engine/random.ts'
import { bareSettings, type RootKey, type TargetSettings } from '../engine/target.ts'
import { createHandler, type ServerOptions } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { create } from './calls.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { byRoot, keyringOf } from './keyring.ts'
import { openExplorer } from './open.ts'
import { learnTokens } from './preflight.ts'
import type { Caller } from './table.ts'

const operations = readDeviations()

type Server = Omit<ServerOptions, 'clock'>

/**
 * Runs sequences against a server with the root key and the key `by-basic`.
 *
 * @param more another root key than the server makes, or what a target file says
 * @returns what they found
 */
export async function foundIn(
  server: Server,
  run: (caller: Caller) => Promise<void>,
  more: { readonly root?: RootKey; readonly settings?: TargetSettings } = {},
): Promise<{ readonly x: Explorer; readonly found: readonly Candidate[] }> {
  const { handle, context } = createHandler({ clock: 'virtual', ...server })
  const { id, secret } = context.root
  const x: Explorer = openExplorer({
    instance: memoryInstance({
      handle,
      clock: context.clock,
      root: { kind: 'secret', id, secret },
      settings: bareSettings,
      ...more,
    }),
    operations,
    values: seededRandom(1),
    fresh: true,
    loopback: true,
    maxCalls: 2000,
    timeLeftMs: () => 60_000,
  })
  const found: Candidate[] = []
  x.report = (candidate) => void found.push(candidate)
  await x.call(create(byRoot(x), { name: 'other', scope: ['apikey', 'solution', 'context'] }, { as: 'by-basic' }))
  await learnTokens(x, more.root === undefined ? 'root' : 'by-basic', undefined)
  const keyring = keyringOf(x, { grants: true, keys: true, limits: true })
  await run({ x, keyring, pairs: new Map(), sinceControl: new Map(), turns: new Map(), asked: new Set() })
  return { x, found }
}

/** The requirements that a server broke. */
export async function brokenBy(server: Server, run: (caller: Caller) => Promise<void>): Promise<readonly string[]> {
  const { found } = await foundIn(server, run)
  return found.map(({ requirement }) => requirement)
}
