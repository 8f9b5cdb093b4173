/** Measures a target where the document is silent. Nothing here judges. */
import type { CreatedKeys } from '../engine/conversation/conversation.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { redactValue } from '../engine/redact.ts'
import type { Random } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import type { Profile } from '../targets/bundled.ts'
import { demandAccess } from './access.ts'
import { addressProbes } from './addresses.ts'
import { type Caller, createCaller, signed } from './caller.ts'
import { envelopeProbes } from './envelope.ts'
import { type Fact, type Probe, type ProbeResult, word } from './fact.ts'
import { grantProbes } from './grants.ts'
import { createKeyMaker } from './key-maker.ts'
import { measureKeys } from './measure-keys.ts'
import { reasonToLeave } from './permission.ts'
import { refreshProbes } from './refreshes.ts'
import { measureRefusals, type RefusalTable } from './refusals.ts'
import { limitProbes, sessionProbes } from './sessions.ts'
import { shortestWaitMs, signatureProbes, waitingProbes } from './signatures.ts'
import { tokenProbes } from './tokens.ts'

interface MeasureOptions {
  allow: readonly SafetyClass[]
  random: Random
  /** The longest wait for a nonce to be forgotten, in ms. */
  maxWaitMs: number
  /** How long to wait for the target to come up, in ms. */
  patientMs: number
  /** Where created keys are noted; null: no key may be created. */
  created: CreatedKeys | null
  /** The instance is new: it holds its initial key only. */
  fresh: boolean
  /** Ends the measurement. */
  signal?: AbortSignal
}

export interface FactSheet extends RefusalTable {
  facts: Fact[]
  /** Switches that make the reference server answer as the target does. */
  profile: Partial<Profile>
  /** Probes that were left out, and why. */
  left: { name: string; reason: string }[]
  calls: number
}

const earlyProbes: readonly Probe[] = [
  ...envelopeProbes,
  ...signatureProbes,
  ...tokenProbes,
  ...grantProbes,
  ...refreshProbes,
  ...addressProbes,
  ...sessionProbes,
]

/** Every probe in the order of the measurement; those that fill a limit or wait come last. */
export const probes: readonly Probe[] = [...earlyProbes, ...limitProbes, ...waitingProbes]

/**
 * @throws SuiteError (`unreachable`, exit code 3) where the target does not answer, or refuses the root key in every way;
 * (`interrupted`, exit code 130) where it was ended
 */
export async function measureFacts(instance: Instance, options: MeasureOptions): Promise<FactSheet> {
  const { allow, random, maxWaitMs, patientMs, fresh } = options
  const caller = createCaller(instance, random, options.signal)
  await demandAccess(caller, patientMs)
  await learnClock(caller)
  const facts: Fact[] = []
  const profile: Partial<Profile> = { basePath: basePathOf(instance.baseUrl) }
  const left: FactSheet['left'] = []
  const add = ({ facts: found, switches }: ProbeResult): void => {
    facts.push(...found)
    Object.assign(profile, switches)
  }
  const hasSecret = caller.secret !== undefined
  const run = async (some: readonly Probe[]): Promise<void> => {
    for (const probe of some) {
      const reason = reasonToLeave(probe, allow, hasSecret)
      if (reason === null) add(await probe.run(caller, profile, { maxWaitMs }))
      else left.push({ name: probe.name, reason })
    }
  }
  await run(earlyProbes)
  const { result, ...table } = await measureRefusals(caller, hasSecret && allow.includes('sessions'))
  add(result)
  await run(limitProbes)
  const maker = options.created === null ? null : createKeyMaker(caller, options.created)
  const ofKeys = await measureKeys(caller, maker, allow, fresh)
  for (const one of ofKeys.results) add(one)
  left.push(...ofKeys.left)
  if (maxWaitMs >= shortestWaitMs) await run(waitingProbes)
  else left.push(...waitingProbes.map(({ name }) => ({ name, reason: 'it needs --nonce-wait SECONDS, 5 or more' })))
  facts.push(throttling(caller))
  return { ...redactValue({ facts, ...table }, caller.redactor), profile, left, calls: caller.counts.calls }
}

const clockSamples = 5
const betweenMs = 190

/** A Date header has whole seconds: calls at several parts of a second tell the clock to a fifth of one. */
async function learnClock(caller: Caller): Promise<void> {
  for (let sample = 0; sample < clockSamples; sample += 1) {
    await caller.call({ auth: signed(caller) })
    await caller.instance.clock.sleep(betweenMs)
  }
}

function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}

function throttling({ counts }: Caller): Fact {
  const value = counts.throttled === 0 ? 'none seen' : 'throttled'
  return word('limits/rate', 'rate limit', value, `${counts.throttled} of ${counts.calls} calls were throttled`)
}
