import { networkInterfaces } from 'node:os'
import type { TargetSettings } from '../engine/target.ts'

// On [::1] the server sees an address that no ipAddr scope can name.
const loopback = /^(127\.\d+\.\d+\.\d+|localhost)$/
// Begins like 127.0.0.1, since some servers compare no more than that.
const secondLoopback = '127.0.0.12'

/** So many addresses of ours are tried. */
const triedAddresses = 6

/** A server in a container behind a port of the loopback sees the address of a bridge. */
function likelyAddresses(): string[] {
  const ours = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const ofIPv4 = ours.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address)
  return ['127.0.0.1', ...ofIPv4].slice(0, triedAddresses)
}

/** The settings of a URL with what goes without saying on the loopback: addresses that may be ours, and a second one to try. */
export function urlSettings(url: string, settings: TargetSettings): TargetSettings {
  if (!loopback.test(new URL(url).hostname)) return settings
  return {
    ...settings,
    secondAddress: settings.secondAddress ?? secondLoopback,
    likelyAddresses: likelyAddresses(),
  }
}
