import type { RunOptions } from './commands/run-options.ts'
import type { Capabilities } from './engine/capabilities.ts'
import type { Corpus } from './engine/fixture/model.ts'
import { bundledSettings } from './targets/bundled-settings.ts'
import { urlSettings } from './targets/url-settings.ts'

/** What the bundled server offers: everything. */
export function bundledCapabilities(corpus: Corpus): Capabilities {
  return {
    allow: ['sessions', 'keys', 'limits'],
    lasting: false,
    fresh: true,
    clockControlled: true,
    outwaitsRefresh: false,
    secondAddress: true,
    clientAddress: true,
    probes: Object.keys(bundledSettings([]).probes),
    solutions: 2,
    cleanup: true,
    rootKind: 'secret',
    keptCast: [],
    castNames: corpus.cast.map(({ name }) => name),
  }
}

/** What a target offers as far as its options tell, before the first request. */
export function expectedCapabilities(options: RunOptions, corpus: Corpus, keptCast: readonly string[]): Capabilities {
  const bundled = bundledCapabilities(corpus)
  if (options.url === null) return bundled
  const settings = urlSettings(options.url, options.settings)
  return {
    ...bundled,
    allow: options.allow,
    lasting: true,
    fresh: options.disposable,
    clockControlled: false,
    secondAddress: settings.secondAddress !== undefined,
    clientAddress: settings.clientAddress !== undefined,
    probes: Object.keys(settings.probes),
    solutions: settings.solutions.length,
    cleanup: settings.cleanup !== undefined,
    rootKind: options.root?.kind ?? 'secret',
    keptCast,
  }
}
