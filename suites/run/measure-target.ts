import { systemRandom } from '../engine/signer/random.ts'
import { type FactSheet, measureFacts } from '../facts/measure.ts'
import { endedTarget, openEndings } from './ending.ts'
import { workAtTarget } from './keys.ts'
import type { TargetOptions } from './options.ts'

interface MeasureTargetOptions {
  /** How long to wait for the target to come up, in ms. */
  patientMs: number
  /** The longest wait for a nonce to be forgotten, in ms. */
  maxWaitMs: number
  /** Prints a line for the user. */
  say(line: string): void
}

/**
 * Measures a server, and removes the API keys that this created, also after a failure or Ctrl-C.
 *
 * @returns the sheet, and what is left on the target, in words
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130; `usage` if the record of keys cannot be used)
 */
export async function measureTarget(
  options: TargetOptions,
  { patientMs, maxWaitMs, say }: MeasureTargetOptions,
): Promise<{ sheet: FactSheet; left: string[] }> {
  const endings = openEndings()
  try {
    const { result, left } = await workAtTarget(
      options,
      { endings, say },
      async ({ target, keys, removeLeftovers }) => {
        await removeLeftovers()
        const instance = await endedTarget(target, endings.cases).open()
        try {
          return await measureFacts(instance, {
            allow: options.allow,
            random: systemRandom,
            patientMs,
            maxWaitMs,
            created: keys.record === null ? null : keys.open(),
            fresh: options.disposable,
            signal: endings.cases.signal,
          })
        } finally {
          await instance.close()
        }
      },
    )
    return { sheet: result, left }
  } finally {
    endings.stop()
  }
}
