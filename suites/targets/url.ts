import { setTimeout } from 'node:timers/promises'
import type { Instance, RootKey, Target, TargetSettings } from '../engine/target.ts'
import type { Route } from './agents.ts'
import { openWire } from './http.ts'
import { urlSettings } from './url-settings.ts'
import { withoutLocalhost } from './without-localhost.ts'

export interface UrlTargetOptions extends Omit<Route, 'baseUrl'> {
  /** Without a trailing slash. */
  url: string
  root: RootKey
  settings: TargetSettings
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number
  /** The user says that nothing was created on it before. */
  disposable: boolean
}

/** The maximum; the run decides how many are used. */
const mostConnections = 64

/** A running server at a URL: one instance for the whole run, with the machine's own clock. */
export function urlTarget(options: UrlTargetOptions): Target {
  const { url, root, requestTimeoutMs, maxAnswerBytes, tls, proxy } = options
  const open = async (): Promise<Instance> => {
    const baseUrl = await withoutLocalhost(url)
    const settings = urlSettings(baseUrl, options.settings)
    const wire = openWire({
      baseUrl,
      requestTimeoutMs,
      maxAnswerBytes,
      secondAddress: settings.secondAddress,
      connections: mostConnections,
      tls,
      proxy,
    })
    return {
      ...wire,
      baseUrl,
      root,
      settings,
      clock: {
        now: Date.now,
        sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => {}),
        controlled: false,
      },
      close: async () => wire.close(),
    }
  }
  return { name: url, lasting: true, fresh: options.disposable, open }
}
