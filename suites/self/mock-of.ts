/** Measures a server, makes a mock of it from its facts, and makes the same calls to both. */
import { compareSessions, type Difference } from '../diff/compare.ts'
import { planSession, playSession } from '../diff/play.ts'
import { openCreatedKeys } from '../engine/conversation/conversation.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { TargetSettings } from '../engine/target.ts'
import { type FactSheet, measureFacts } from '../facts/measure.ts'
import { bundledTarget, type ServerOptions } from '../targets/bundled.ts'

const allow = ['sessions', 'keys', 'limits'] as const
const anHourMs = 3_600_000
const seed = 17

export interface MockProof {
  sheet: FactSheet
  calls: number
  /** Calls that the mock answers with another outcome, status or code. */
  differences: Difference[]
  /** The control: calls that the reference server answers differently without the facts. */
  withoutFacts: Difference[]
}

/** @param calls how many calls are made to the server and its mock */
export async function proveMock(
  server: ServerOptions,
  settings: Partial<TargetSettings>,
  calls: number,
): Promise<MockProof> {
  const sheet = await onInstance(server, settings, (instance) =>
    measureFacts(instance, {
      allow,
      random: seededRandom(seed),
      maxWaitMs: anHourMs,
      patientMs: 0,
      created: openCreatedKeys(),
      fresh: true,
    }),
  )
  const { tokenPrefix } = sheet.profile
  const withPrefix = { ...settings, ...(tokenPrefix === undefined ? {} : { tokenPrefix }) }
  const planned = planSession(seed, calls, allow, true)
  const play = (options: ServerOptions) =>
    onInstance(options, withPrefix, (instance) => playSession(instance, planned, seededRandom(seed)))
  const recorded = await play(server)
  const mocked = await play({ profile: sheet.profile })
  const plain = await play({})
  return { sheet, calls, differences: unlike(recorded, mocked), withoutFacts: unlike(recorded, plain) }
}

/** Calls with another outcome, status or code. */
function unlike(...[recorded, mocked]: Parameters<typeof compareSessions>): Difference[] {
  return compareSessions(recorded, mocked).filter((one) => one.in.some((what) => what !== 'shape'))
}

type Instance = Awaited<ReturnType<ReturnType<typeof bundledTarget>['open']>>

async function onInstance<T>(
  server: ServerOptions,
  settings: Partial<TargetSettings>,
  use: (instance: Instance) => Promise<T>,
): Promise<T> {
  const target = bundledTarget(server, settings)
  const instance = await target.open()
  try {
    return await use(instance)
  } finally {
    await instance.close()
    await target.close?.()
  }
}
