import type { Corpus } from '../engine/fixture/model.ts'
import { bundledSettings } from '../targets/bundled-settings.ts'
import { urlSettings } from '../targets/url-settings.ts'
import { type Capabilities, capabilitiesOf } from './capabilities.ts'
import type { RunOptions } from './options.ts'

/** Stand-ins for the ids that every bundled server makes anew. */
const twoSolutions = ['first', 'second']

/** What the bundled server offers: everything. */
export function bundledCapabilities(corpus: Corpus): Capabilities {
  return capabilitiesOf(bundledSettings(twoSolutions), {
    allow: ['sessions', 'keys', 'limits'],
    lasting: false,
    fresh: true,
    clockControlled: true,
    rootKind: 'secret',
    keptTestKeys: [],
    testKeyNames: corpus.testKeys.map(({ name }) => name),
  })
}

/** What a target offers as far as its options tell, before the first request. */
export function expectedCapabilities(
  options: RunOptions,
  corpus: Corpus,
  keptTestKeys: readonly string[],
): Capabilities {
  if (options.url === null) return bundledCapabilities(corpus)
  return capabilitiesOf(urlSettings(options.url, options.settings), {
    allow: options.allow,
    lasting: true,
    fresh: options.disposable,
    clockControlled: false,
    rootKind: options.root?.kind ?? 'secret',
    keptTestKeys,
    testKeyNames: corpus.testKeys.map(({ name }) => name),
  })
}
