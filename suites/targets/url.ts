import { setTimeout } from 'node:timers/promises'
import type { Instance, RootKey, Target, TargetSettings } from '../engine/target.ts'
import { openWire, type Tls } from './http.ts'
import { listens } from './listens.ts'
import { urlSettings } from './url-settings.ts'

export interface UrlTargetOptions {
  /** Without a trailing slash. */
  url: string
  root: RootKey
  settings: TargetSettings
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number
  tls?: Tls | undefined
  /** The URL of a proxy; null: none. */
  proxy?: string | null
  /** The user says that nothing was created on it before. */
  disposable: boolean
}

/** The maximum; the run decides how many are used. */
const mostConnections = 64

const localhost = /^(https?:\/\/)localhost(?=[:/]|$)/

/** `localhost` means 127.0.0.1, because no ipAddr scope can name ::1; it means ::1 if the server listens only there. */
async function withoutLocalhost(url: string): Promise<string> {
  if (!localhost.test(url)) return url
  const { port, protocol } = new URL(url)
  const portNumber = Number(port || (protocol === 'https:' ? 443 : 80))
  const isOnIPv6Only = !(await listens('127.0.0.1', portNumber)) && (await listens('::1', portNumber))
  return url.replace(localhost, isOnIPv6Only ? '$1[::1]' : '$1127.0.0.1')
}

/** A running server behind a URL: one instance for the whole run, with the machine's own clock. */
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
      baseUrl,
      root,
      settings,
      clock: {
        now: Date.now,
        sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => {}),
        controlled: false,
      },
      send: wire.send,
      sendTogether: wire.sendTogether,
      endRaces: wire.endRaces,
      close: async () => wire.close(),
    }
  }
  return { name: url, lasting: true, fresh: options.disposable, open }
}
