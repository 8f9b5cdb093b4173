import type { CreatedKey } from '../engine/case/created-keys.ts'
import { standInOf } from '../engine/case/stand-in.ts'
import type { Corpus } from '../engine/fixture/fixture-types.ts'
import { bundledSettings } from '../targets/bundled-settings.ts'
import { urlSettings } from '../targets/url-settings.ts'
import { type Capabilities, capabilitiesOf } from './capabilities.ts'
import type { TargetOptions } from './options/target-options.ts'

/** Placeholders for the ids that every bundled server generates. */
const twoSolutions = ['first', 'second']

/** What a target offers according to its options, before the first request. */
export function expectedCapabilities(
  target: TargetOptions | null,
  corpus: Corpus,
  keptTestKeys: readonly CreatedKey[],
): Capabilities {
  const testKeyNames = corpus.testKeys.map(({ name }) => name)
  if (target === null) {
    return capabilitiesOf(bundledSettings(twoSolutions), {
      allow: ['sessions', 'keys', 'limits'],
      lasting: false,
      fresh: true,
      clockControlled: true,
      standIn: 'root',
      keptTestKeys: [],
      testKeyNames,
    })
  }
  return capabilitiesOf(urlSettings(target.url, target.settings), {
    allow: target.allow,
    lasting: true,
    fresh: target.disposable,
    clockControlled: false,
    standIn: standInOf(corpus.testKeys, target.root),
    keptTestKeys: keptTestKeys.flatMap(({ member }) => member ?? []),
    testKeyNames,
  })
}
