/**
 * The one door between the suite and the reference server: nothing else in suites/ imports mock-server/, and mock-server/ imports
 * nothing of suites/. Two witnesses that shared code would only be one.
 */
import { profileChoices, type ServerOptions, serve, startMockServer } from '../../mock-server/index.ts'
import type { Mutant } from '../../mock-server/mutants.ts'
import type { Variant } from '../../mock-server/variants.ts'
import type { Instance, Target, TargetSettings } from '../engine/target.ts'
import { bundledSettings } from './bundled-settings.ts'

export type { Mutant, ServerOptions, Variant }
export { profileChoices, serve, startMockServer }

/** Servers that are wrong in one way each. Loaded only where they are hunted. */
export const loadMutants = async (): Promise<readonly Mutant[]> =>
  (await import('../../mock-server/mutants.ts')).mutants
/** Conforming servers that answer open questions otherwise. Loaded only where they are tried. */
export const loadVariants = async (): Promise<readonly Variant[]> =>
  (await import('../../mock-server/variants.ts')).variants

const requestTimeoutMs = 10_000

/**
 * The bundled server as a target: every instance is fresh, with a virtual clock of its own that `sleep` moves.
 *
 * @param server how it departs from the reference: rules of a mutant, the profile of a variant
 * @param settings what a user of such a server would tell the suite (its scheme word, say)
 */
export function bundledTarget(server: ServerOptions = {}, settings: Partial<TargetSettings> = {}): Target {
  return { name: 'bundled', lasting: false, fresh: true, open: () => openBundled(server, settings) }
}

/** One server that all rows share, as behind a URL, but with a clock that can be moved: for tests of the way to real servers. */
export function lastingTarget(server: ServerOptions = {}, settings: Partial<TargetSettings> = {}): Target {
  return { name: 'http://lasting', lasting: true, fresh: true, open: () => openBundled(server, settings) }
}

async function openBundled(options: ServerOptions, settings: Partial<TargetSettings>): Promise<Instance> {
  const server = await startMockServer({ clock: 'virtual', ...options })
  const allSettings = { ...bundledSettings(server.solutions), ...settings }
  // Loaded here, so that `serve`, which comes through this door too, need not wait for it.
  const { openWire } = await import('./http.ts')
  const wire = openWire({ baseUrl: server.url, requestTimeoutMs, secondAddress: allSettings.secondAddress })
  return {
    baseUrl: server.url,
    root: { kind: 'secret', ...server.rootKey },
    settings: allSettings,
    clock: {
      now: () => server.clock.now(),
      sleep: async (ms) => server.clock.advance(ms),
      controlled: true,
    },
    send: wire.send,
    sendTogether: wire.sendTogether,
    close: async () => {
      wire.close()
      await server.close()
    },
  }
}
