import { listens } from './listens.ts'

const localhost = /^(https?:\/\/)localhost(?=[:/]|$)/

/** `localhost` means 127.0.0.1, because no ipAddr scope can name ::1; it means ::1 if the server listens only there. */
export async function withoutLocalhost(url: string): Promise<string> {
  if (!localhost.test(url)) return url
  const { port, protocol } = new URL(url)
  const portNumber = Number(port || (protocol === 'https:' ? 443 : 80))
  const isOnIPv6Only = !(await listens('127.0.0.1', portNumber)) && (await listens('::1', portNumber))
  return url.replace(localhost, isOnIPv6Only ? '$1[::1]' : '$1127.0.0.1')
}
