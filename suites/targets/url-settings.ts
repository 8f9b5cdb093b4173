import { networkInterfaces } from 'node:os'
import type { TargetSettings } from '../engine/target.ts'

// On [::1] the server sees an address that no ipAddr scope can name.
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
