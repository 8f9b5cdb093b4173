import type { Client } from '../../engine/case/client.ts'
import { SuiteError } from '../../engine/errors.ts'
import type { Auth, SafetyClass } from '../../engine/fixture/fixture-types.ts'
import type { Called } from '../../engine/judge/called.ts'
import { printable } from '../../engine/printable.ts'
import { call, grant, refusable } from './calls.ts'

/** The pause between two tries to reach a target that is still starting. In ms. */
const patienceMs = 250

/**
 * The first call, which carries no authorization.
 *
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) where nothing connects, or the target asks to wait too long
 */
export async function firstCall(client: Client, patientMs: number): Promise<Called> {
  const { clock, baseUrl } = client.instance
  const untilMs = clock.now() + patientMs
  for (;;) {
    const first = await refusable(client, 'none')
    const { answer } = first
    // Shorter times have already been waited out.
    if (answer.outcome === 'throttled' && first.throttled === 0) throw throttledFromTheStart(client, answer)
    if (answer.outcome === 'throttled' && (await throttlesRoot(client))) throw throttledForGood(client, answer.status)
    if (answer.outcome !== 'broken' || answer.status !== null) return first
    if (!answer.refusedConnection && (await answersRoot(client))) return first
    if (clock.now() >= untilMs || !answer.refusedConnection || client.run.stopping.reason !== null) {
      const patience = answer.refusedConnection ? `; is the server running? ${afterWaiting(patientMs)}` : ''
      throw new SuiteError('unreachable', `Cannot reach ${baseUrl}/api: ${printable(answer.reason)}${patience}`)
    }
    await clock.sleep(patienceMs)
  }
}

/** Repeats the call with authorization: a target may throttle only calls without it. */
async function throttlesRoot(client: Client): Promise<boolean> {
  return (await call(client, { key: 'root' })).answer.outcome === 'throttled'
}

function throttledForGood({ instance }: Client, status: number): SuiteError {
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: it answers every call with HTTP ${status}, however slowly the calls come`,
  )
}

/** Repeats the call with authorization: a target may leave only calls without it unanswered. */
async function answersRoot(client: Client): Promise<boolean> {
  const basic: Auth[] = client.instance.root.kind === 'secret' ? [{ basic: 'root' }] : []
  for (const auth of [...basic, { key: 'root' }]) {
    if ((await call(client, auth)).answer.status !== null) return true
  }
  return false
}

function throttledFromTheStart(
  { instance }: Client,
  { status, retryAfterMs = 0 }: { status: number; retryAfterMs?: number },
): SuiteError {
  const seconds = Math.ceil(retryAfterMs / 1000)
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: it answers the first call with HTTP ${status} and asks to wait ${seconds} s, longer than this run waits; "--wait ${seconds}" allows it`,
  )
}

const afterWaiting = (patientMs: number): string =>
  patientMs > 0 ? `It did not come up within ${patientMs / 1000} s` : '--wait SECONDS waits for it to come up'

/** How long a refused call takes. */
export async function measureRefused(client: Client, first: Called): Promise<void> {
  if (first.answer.status === null) return
  for (let sample = 0; sample < 3; sample += 1) await timeCall(client, () => call(client, 'none'))
}

/** How long an accepted call takes: a server may refuse fast and accept slowly. */
export async function measureAccepted(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  await timeCall(client, () => call(client, { key: 'root' }))
  if (allow.includes('sessions') && client.instance.root.kind === 'secret') {
    await timeCall(client, () => grant(client, ['solution']))
  }
}

/** The longest call counts; a throttled one says nothing about the latency. */
async function timeCall({ instance, facts }: Client, makeIt: () => Promise<Called>): Promise<void> {
  const before = instance.clock.now()
  const { throttled, wire } = await makeIt()
  if (throttled === 0 && wire.kind === 'answer')
    facts.roundTripMs = Math.max(facts.roundTripMs, instance.clock.now() - before)
}
