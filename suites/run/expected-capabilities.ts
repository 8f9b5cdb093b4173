import type { CreatedKey } from '../engine/conversation/conversation.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { bundledSettings } from '../targets/bundled.ts'
import { urlSettings } from '../targets/url.ts'
import { type Capabilities, capabilitiesOf } from './capabilities.ts'
import type { TargetOptions } from './options/target-options.ts'

/** Placeholders for the ids that every bundled server generates. */
const twoSolutions = ['first', 'second']

/** What a target offers according to its options, before the first request. */
export function expectedCapabilities(
  target: TargetOptions | null,
  corpus: Corpus,
  kept: readonly CreatedKey[],
): Capabilities {
  const { testKeys } = corpus
  if (target === null) {
    return capabilitiesOf({
      allow: ['sessions', 'keys', 'limits'],
      lasting: false,
      fresh: true,
      clockControlled: true,
      settings: bundledSettings(twoSolutions),
      root: { kind: 'secret' },
      testKeys,
      kept: [],
    })
  }
  return capabilitiesOf({
    allow: target.allow,
    lasting: true,
    fresh: target.disposable,
    clockControlled: false,
    settings: urlSettings(target.url, target.settings),
    root: target.root,
    testKeys,
    kept,
  })
}
