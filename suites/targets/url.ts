import type { Instance, RootKey, Target, TargetSettings } from '../engine/target.ts'
import { openWire } from './http.ts'
import { urlSettings } from './url-settings.ts'

export interface UrlTargetOptions {
  /** Without a trailing slash. */
  url: string
  root: RootKey
  settings: TargetSettings
  requestTimeoutMs: number
  tls?: { ca?: string; insecure?: boolean } | undefined
  /** The user says that nothing was created on it before. */
  disposable: boolean
}

/** A running server behind a URL: one instance for the whole run, with the machine's own clock. */
export function urlTarget(options: UrlTargetOptions): Target {
  const { url, root, requestTimeoutMs, tls } = options
  // `localhost` may be ::1, which no ipAddr scope can name.
  const baseUrl = url.replace(/^(https?:\/\/)localhost(?=[:/]|$)/, '$1127.0.0.1')
  const settings = urlSettings(url, options.settings)
  const open = async (): Promise<Instance> => {
    const wire = openWire({ baseUrl, requestTimeoutMs, secondAddress: settings.secondAddress, tls })
    return {
      baseUrl,
      root,
      settings,
      clock: {
        now: Date.now,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        controlled: false,
      },
      send: wire.send,
      sendTogether: wire.sendTogether,
      close: async () => wire.close(),
    }
  }
  return { name: url, lasting: true, fresh: options.disposable, open }
}
