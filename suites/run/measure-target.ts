import { systemRandom } from '../engine/random.ts'
import { type FactSheet, measureFacts } from '../facts/measure.ts'
import { urlTarget } from '../targets/url.ts'
import { openCorpus } from './corpus-cache.ts'
import { createEnding, type Endings, endedTarget } from './ending/ending.ts'
import { interruptedInstead } from './ending/interrupted.ts'
import { endOnSignals } from './ending/signals.ts'
import { type KeysOfTarget, openKeysOfTarget, openRecordedKeys } from './keys/keys-of-target.ts'
import type { TargetOptions } from './options/target-options.ts'
import { finish, removeLeftovers } from './run-against-url.ts'

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
  const keys = openKeysOfTarget(options.keys)
  const endings: Endings = { cases: createEnding(), cleanUp: createEnding() }
  const stopListening = endOnSignals(endings)
  const target = urlTarget(options)
  let sheet: FactSheet | undefined
  let left: string[] = []
  try {
    await withCorpus(keys, async (corpus) => removeLeftovers({ corpus, say }, { target, keys, endings }))
    const instance = await endedTarget(target, endings.cases).open()
    try {
      sheet = await measureFacts(instance, {
        allow: options.allow,
        random: systemRandom,
        patientMs,
        maxWaitMs,
        created: keys.record === null ? null : openRecordedKeys(keys),
        fresh: options.disposable,
        signal: endings.cases.signal,
      })
    } finally {
      await instance.close()
    }
  } catch (error) {
    throw interruptedInstead(error, endings.cases)
  } finally {
    await withCorpus(keys, async (corpus) => {
      left = await finish({ corpus, say }, options, { target, keys, endings })
    })
    stopListening()
    if (sheet === undefined) for (const line of left) say(`Left on the target: ${line}`)
  }
  return { sheet, left }
}

/** There is something to remove only if keys may be created. */
async function withCorpus(
  { record }: KeysOfTarget,
  use: (corpus: Awaited<ReturnType<typeof openCorpus>>) => Promise<void>,
): Promise<void> {
  if (record !== null) await use(await openCorpus())
}
