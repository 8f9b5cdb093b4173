/** Runs the probes that create API keys. Their refusals count only where a place for a key was free. */
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import type { Caller } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import type { KeyProbe, KeyProbeOptions, ProbeResult } from './fact.ts'
import { beRefused, keyLimitProbes } from './key-limit.ts'
import { type Creation, type KeyMaker, nameOf, ordinaryScope } from './key-maker.ts'
import { keyProbes } from './keys.ts'
import { reasonToLeave } from './permission.ts'

interface KeyMeasurement {
  results: ProbeResult[]
  left: { name: string; reason: string }[]
}

/** Every probe that creates keys; what fills a limit comes last. */
export const allKeyProbes: readonly KeyProbe[] = [...keyProbes, ...keyLimitProbes]

/** Whether a probe works without a free place. */
const fillsPlaces = ({ cost }: KeyProbe): boolean => cost.keys === 0

/** @param maker null: no key may be created */
export async function measureKeys(
  caller: Caller,
  maker: KeyMaker | null,
  allow: readonly SafetyClass[],
  fresh: boolean,
): Promise<KeyMeasurement> {
  const measurement: KeyMeasurement = { results: [], left: [] }
  const leave = (probes: readonly KeyProbe[], reason: string): void => {
    for (const { name } of probes) measurement.left.push({ name, reason })
  }
  const hasSecret = caller.secret !== undefined
  const allowed = allKeyProbes.filter((probe) => {
    const reason = reasonToLeave(probe, allow, hasSecret)
    if (reason !== null) leave([probe], reason)
    return reason === null
  })
  if (maker === null || allowed.length === 0) return measurement
  const first = await control(caller, maker, 'first')
  if (first.key === null) {
    leave(allowed, `no key can be created: ${describeReply(first.reply)}`)
    return measurement
  }
  if (allowed.some(fillsPlaces)) await beRefused(caller, maker)
  await measureWithPlaces(caller, maker, allowed, { options: { fresh, first }, measurement, leave })
  return measurement
}

interface KeyRun {
  options: KeyProbeOptions
  measurement: KeyMeasurement
  leave(probes: readonly KeyProbe[], reason: string): void
}

async function measureWithPlaces(
  caller: Caller,
  maker: KeyMaker,
  probes: readonly KeyProbe[],
  { options, measurement, leave }: KeyRun,
): Promise<void> {
  /** Their refusals may have had another reason: no place for a key. */
  let inDoubt: { probe: KeyProbe; result: ProbeResult }[] = []
  const settle = (): void => {
    if (maker.refusalsInDoubt() > 0) return
    measurement.results.push(...inDoubt.map(({ result }) => result))
    inDoubt = []
  }
  for (const probe of probes) {
    const missing = probe.cost.keys - maker.placesLeft()
    // Probes of the limit itself work without a free place.
    if (missing > 0) {
      leave([probe], 'too few of the ten places for keys are left; "cleanup" in the target file frees them')
      continue
    }
    const fillsTheLimit = fillsPlaces(probe)
    if (fillsTheLimit && inDoubt.length > 0 && maker.placesLeft() > 0) {
      await control(caller, maker, 'control')
      settle()
      await maker.removeAll()
    }
    const result = await probe.run(caller, maker, options)
    if (fillsTheLimit) measurement.results.push(result)
    else inDoubt.push({ probe, result })
    settle()
    await maker.removeAll()
  }
  if (inDoubt.length > 0 && maker.placesLeft() > 0) await control(caller, maker, 'control')
  settle()
  await maker.removeAll()
  const doubtful = inDoubt.map(({ probe }) => probe)
  leave(doubtful, 'a creation was refused, and no place for a key was free to try whether another one is accepted')
}

/** Creates an ordinary key. */
function control(caller: Caller, maker: KeyMaker, what: string): Promise<Creation> {
  return maker.create({ name: nameOf(caller, what), scope: ordinaryScope })
}
