import { brokenServers, conformingServers } from '../servers/table.ts'
import type { ServerOptions } from '../targets/bundled.ts'

/** A fresh server of this row, broken or conforming. Without such a row the test has a mistake. */
export async function serverNamed(id: string): Promise<Omit<ServerOptions, 'clock'>> {
  const row = [...(await brokenServers()), ...(await conformingServers())].find((one) => one.id === id)
  if (row === undefined) throw new Error(`There is no server "${id}"`)
  return row.create()
}
