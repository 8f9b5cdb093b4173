/** Opens the way to the target of an exploration: the bundled server in memory, or a URL. */
import { systemRandom } from '../engine/random.ts'
import { bareSettings } from '../engine/target.ts'
import { createHandler } from '../targets/bundled.ts'
import { defaultMaxAnswerBytes } from '../targets/read-answer.ts'
import { type UrlTargetOptions, withoutLocalhost } from '../targets/url.ts'
import type { ExploreOptions } from './explore.ts'
import { openHttpWire } from './http-wire.ts'
import { openMemoryWire } from './memory-wire.ts'

interface OpenedTarget {
  readonly options: Pick<ExploreOptions, 'wire' | 'root' | 'settings' | 'loopback' | 'values'>
  close(): Promise<void>
}

/** @param target null: the bundled server, with a clock of its own */
export async function openTarget(target: UrlTargetOptions | null): Promise<OpenedTarget> {
  if (target === null) return openBundled()
  const { root, settings, requestTimeoutMs: timeoutMs, maxAnswerBytes = defaultMaxAnswerBytes, tls, proxy } = target
  const { headers, rate } = settings
  const baseUrl = await withoutLocalhost(target.url)
  const wire = openHttpWire({ baseUrl, timeoutMs, maxAnswerBytes, tls, proxy, headers, rate })
  // A server may remember the nonces, names and public keys of an earlier exploration with the same seed.
  const options = { wire, root, settings, loopback: isLoopback(baseUrl), values: systemRandom }
  return { options, close: async () => wire.close() }
}

function openBundled(): OpenedTarget {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const { id, secret } = context.root
  const wire = openMemoryWire(handle, context.clock)
  return {
    options: {
      wire,
      root: { kind: 'secret', id, secret },
      settings: { ...bareSettings, clientAddress: '127.0.0.1' },
      loopback: true,
    },
    close: async () => {},
  }
}

/** Whether calls can come from every address of 127/8; over IPv6 they cannot. */
const isLoopback = (url: string): boolean => /^127\.\d+\.\d+\.\d+$/.test(new URL(url).hostname)
