import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { Instance, RootKey, Target, TargetSettings } from '../engine/target.ts'
import { openWire } from './transport.ts'

export interface UrlTargetOptions extends Pick<Parameters<typeof openWire>[0], 'tls' | 'proxy' | 'address'> {
  /** Without a trailing slash. */
  url: string
  root: RootKey
  settings: TargetSettings
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number
  /** Its calls name their connections, as those of the model do, so none is opened in advance. */
  namesConnections?: boolean
  /** The user says that nothing was created on it before. */
  disposable: boolean
}

/** Servers usually close idle connections after 5 s, so older idle ones are not used again. In ms. */
const mostIdleMs = 2500

/** A running server at a URL: one instance for the whole run, with the machine's own clock. */
export function urlTarget(options: UrlTargetOptions): Target {
  const { url, root, requestTimeoutMs, maxAnswerBytes, tls, proxy, namesConnections = false } = options
  const open = async (): Promise<Instance> => {
    const address = await addressOfLocalhost(url)
    // On [::1] the server sees an address that no ipAddr scope can name.
    const settings = address === '::1' ? options.settings : urlSettings(url, options.settings)
    const wire = openWire({
      baseUrl: url,
      address,
      requestTimeoutMs,
      maxAnswerBytes,
      secondAddress: settings.secondAddress,
      tls,
      proxy,
      ...(namesConnections ? { opensSpares: false, mostIdleMs } : {}),
    })
    return {
      ...wire,
      baseUrl: url,
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

const loopback = /^(127\.\d+\.\d+\.\d+|localhost)$/
// It begins like 127.0.0.1, because some servers compare only the beginning.
const secondLoopback = '127.0.0.12'

/** How many of our addresses are tried. */
const triedAddresses = 6

/** A server in a container, reached through a port of the loopback, sees the address of a bridge. */
function likelyAddresses(): string[] {
  const ours = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const ofIPv4 = ours.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address)
  return ['127.0.0.1', ...ofIPv4].slice(0, triedAddresses)
}

/** Adds what is known on the loopback to the settings of a URL: addresses that may be ours, and a second one to try. */
export function urlSettings(url: string, settings: TargetSettings): TargetSettings {
  if (!loopback.test(new URL(url).hostname)) return settings
  return {
    ...settings,
    secondAddress: settings.secondAddress ?? secondLoopback,
    likelyAddresses: likelyAddresses(),
  }
}

const connectTimeoutMs = 1000

/** Whether anything accepts connections at a URL, or at this address instead of its host. */
export function listens(url: string, address?: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const host = address ?? hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: connectTimeoutMs,
    })
    const end = (found: boolean): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}

/**
 * Where `localhost` is: 127.0.0.1, because no ipAddr scope can name ::1, or ::1 if the server listens only there. The URL keeps its name, since
 * a certificate is for a name.
 *
 * @returns undefined for any other host
 */
async function addressOfLocalhost(url: string): Promise<string | undefined> {
  if (new URL(url).hostname !== 'localhost') return undefined
  const isOnIPv6Only = !(await listens(url, '127.0.0.1')) && (await listens(url, '::1'))
  return isOnIPv6Only ? '::1' : '127.0.0.1'
}
