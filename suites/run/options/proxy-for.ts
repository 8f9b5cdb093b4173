import { usageError } from '../../engine/errors.ts'
import { isLoopback } from '../../engine/target.ts'
import { type Environment, given } from './inputs.ts'

/**
 * Finds the proxy for a URL, from HTTPS_PROXY (or HTTP_PROXY for an http URL) and NO_PROXY, in either case. The loopback is never reached through a
 * proxy.
 *
 * @returns the URL of the proxy; null without a proxy
 * @throws SuiteError (`usage`) for a proxy that is not an http or https URL
 */
export function proxyFor(url: string, env: Environment): string | null {
  const { protocol, hostname, port } = new URL(url)
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = variable(env, name)
  if (proxy === undefined || isLoopback(url)) return null
  const withoutProxy = variable(env, 'NO_PROXY') ?? ''
  if (withoutProxy.split(',').some((entry) => names(entry.trim(), hostname, port))) return null
  const address = /^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`
  if (!URL.canParse(address) || !/^https?:/.test(address))
    throw usageError(`Cannot use the proxy of ${name}: expected a URL such as "http://proxy.example:3128"`)
  return address
}

const variable = (env: Environment, name: string): string | undefined =>
  given(env[name]) ?? given(env[name.toLowerCase()])

/** `*`, a host name, a domain with all below it, each with or without a port. */
function names(entry: string, hostname: string, port: string): boolean {
  if (entry === '*') return true
  const [, host = '', wantedPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  if (host === '' || (wantedPort !== undefined && wantedPort !== port)) return false
  return hostname === host || hostname.endsWith(`.${host}`)
}
