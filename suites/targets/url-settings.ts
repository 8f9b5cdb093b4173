import type { TargetSettings } from '../engine/target.ts'

// On [::1] the server sees an address that no ipAddr scope can name.
const loopback = /^(127\.\d+\.\d+\.\d+|localhost)$/
// Begins like 127.0.0.1, since some servers compare no more than that.
const secondLoopback = '127.0.0.12'

/** The settings of a URL with what goes without saying on the loopback: our address, and a second one to try. */
export function urlSettings(url: string, settings: TargetSettings): TargetSettings {
  if (!loopback.test(new URL(url).hostname)) return settings
  return {
    ...settings,
    secondAddress: settings.secondAddress ?? secondLoopback,
    clientAddress: settings.clientAddress ?? '127.0.0.1',
  }
}
