/** Opens the way to the target of an exploration: the bundled server in memory, or a URL. */

import { createHandler } from '../targets/bundled.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import type { ExploreOptions } from './explore.ts'
import { openHttpWire } from './http-wire.ts'
import { openMemoryWire } from './memory-wire.ts'

interface OpenedTarget {
  readonly options: Pick<ExploreOptions, 'wire' | 'root' | 'settings' | 'loopback'>
  close(): Promise<void>
}

const longestAnswerBytes = 4 * 1024 * 1024

/** @param target null: the bundled server, with a clock of its own */
export async function openTarget(target: UrlTargetOptions | null): Promise<OpenedTarget> {
  if (target === null) return openBundled()
  const { url, root, settings, requestTimeoutMs: timeoutMs, tls } = target
  const { headers, rate } = settings
  const wire = openHttpWire({ baseUrl: url, timeoutMs, maxAnswerBytes: longestAnswerBytes, tls, headers, rate })
  return { options: { wire, root, settings, loopback: isLoopback(url) }, close: async () => wire.close() }
}

function openBundled(): OpenedTarget {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const { id, secret } = context.root
  const wire = openMemoryWire(handle, context.clock)
  const settings = {
    scheme: 'svc-hmac-sha256',
    signedUri: '/api',
    scopeNames: {},
    headers: {},
    probes: {},
    solutions: [],
    rate: 0,
    maxWaitMs: 0,
  }
  return { options: { wire, root: { kind: 'secret', id, secret }, settings, loopback: true }, close: async () => {} }
}

const isLoopback = (url: string): boolean => /^(127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
