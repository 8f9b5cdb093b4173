/** Runs single sequences of the model against servers in memory, and tells what they find. For tests. */

import type { Requirement } from '../engine/language/fixture-types.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { bareSettings, type RootKey, type TargetSettings } from '../engine/target.ts'
import { isProof } from '../self/proof-form.ts'
import { createHandler, type ServerOptions } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { type Sizes, sizesFor } from './budget.ts'
import { type Explorer, openExplorer } from './explorer.ts'
import { collectFindings } from './findings.ts'
import { type Caller, callerOf } from './keyring.ts'
import { learnTokens } from './preflight.ts'
import { type Candidate, create } from './step.ts'
import { runWorld } from './worlds.ts'

/** What stands for `$unique` in a text that is sent, from the seed of `foundIn`. */
export const sentUnique = 'g0rz'

type Server = Omit<ServerOptions, 'clock'>
type Around = NonNullable<ServerOptions['around']>
type Asked = Parameters<Parameters<Around>[0]>[0]

/**
 * Runs sequences against a server with the root key and the key `by-basic`.
 *
 * @param more another root key than the server makes, or what a target file says
 * @returns what they found
 */
export async function foundIn(
  server: Server,
  run: (caller: Caller) => Promise<unknown>,
  more: { readonly root?: RootKey; readonly settings?: TargetSettings } = {},
): Promise<{ readonly x: Explorer; readonly found: readonly Candidate[] }> {
  const { handle, context } = createHandler({ clock: 'virtual', ...server })
  const own = { root: { kind: 'secret' as const, ...context.root }, settings: bareSettings }
  const x: Explorer = openExplorer({
    instance: memoryInstance({ handle, clock: context.clock, ...own, ...more }),
    values: seededRandom(1),
    fresh: true,
    loopback: true,
    maxCalls: 4000,
    timeLeftMs: () => 60_000,
  })
  const found: Candidate[] = []
  x.report = (candidate) => void found.push(candidate)
  await x.call(create(x.byRoot, { name: 'other', scope: ['apikey', 'solution', 'context'] }, { as: 'by-basic' }))
  await learnTokens(x, more.root === undefined ? 'root' : 'by-basic')
  await run(callerOf(x, { grants: true, keys: true, limits: true }))
  return { x, found }
}

/** @returns what `foundIn` finds, and what a report tells of it */
export async function toldOf(requirements: readonly Requirement[], ...asked: Parameters<typeof foundIn>) {
  const { x, found } = await foundIn(...asked)
  const findings = collectFindings(x, requirements)
  for (const one of found) await findings.take(one)
  return { found, told: findings.found }
}

/** Sizes of an exploration of the given number of calls. */
export const sizesOf = (calls: number): Sizes =>
  sizesFor({ maxCalls: calls, made: 0, callMs: 0, timeLeftMs: 600_000, waits: false })

/** After this many calls a world ends, unless all is proved. */
const shortCalls = 400

/** A world with the sizes of a long exploration, once nobody else uses the target. */
export const inWorld =
  (name: string, values: { readonly [name: string]: unknown } = {}) =>
  async (caller: Caller): Promise<void> => {
    const { x } = caller
    const before = x.calls()
    const mostCalls = isProof ? Number.POSITIVE_INFINITY : before + shortCalls
    await runWorld(caller, name, { sizes: sizesOf(20_000), values, isOver: () => x.isOver() || x.calls() > mostCalls })
    if (x.calls() === before) throw new Error(`The world "${name}" makes no call: the model is not sure of any answer`)
  }

/** A server that refuses these requests. */
export const refusing = (isRefused: (request: Asked, context: Parameters<Around>[1]) => boolean): Server => ({
  around: (handle, context) => async (request) =>
    isRefused(request, context) ? { status: 401, headers: {}, body: '' } : handle(request),
})

/** The first of several, of which there must be one. */
export function firstOf<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('Nothing was found')
  return first
}

/** The requirements that a server broke. */
export async function brokenBy(server: Server, run: (caller: Caller) => Promise<void>): Promise<readonly string[]> {
  return (await foundIn(server, run)).found.map(({ requirement }) => requirement)
}
