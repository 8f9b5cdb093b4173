import type { Instance, RootKey, Target, TargetSettings } from '../engine/target.ts'
import { openWire } from './http.ts'

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

const loopback = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/
const secondLoopback = '127.0.0.2'

/** A running server behind a URL: one instance for the whole run, with the machine's own clock. */
export function urlTarget(options: UrlTargetOptions): Target {
  const { url, root, requestTimeoutMs, tls } = options
  // `localhost` may be ::1, which no ipAddr scope can name.
  const baseUrl = url.replace(/^(https?:\/\/)localhost(?=[:/]|$)/, '$1127.0.0.1')
  const isLoopback = loopback.test(new URL(baseUrl).hostname)
  const settings: TargetSettings = {
    ...options.settings,
    secondAddress: options.settings.secondAddress ?? (isLoopback ? secondLoopback : undefined),
    clientAddress: options.settings.clientAddress ?? (isLoopback ? '127.0.0.1' : undefined),
  }
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
