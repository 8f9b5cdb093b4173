import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { openSpares } from './spare-connections.ts'

const agents: http.Agent[] = []
const servers: http.Server[] = []
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(): Promise<{ port: number; opened: (number | undefined)[]; used: Set<number | undefined> }> {
  const opened: (number | undefined)[] = []
  const used = new Set<number | undefined>()
  const server = http.createServer((request, response) => {
    used.add(request.socket.remotePort)
    response.end('well')
  })
  server.on('connection', ({ remotePort }) => opened.push(remotePort))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, opened, used }
}

function agentWithSpares({ most = 9, now }: { most?: number; now?: () => number } = {}) {
  const agent = new http.Agent({ keepAlive: false })
  agents.push(agent)
  const sockets: Socket[] = []
  const made = agent as unknown as { createConnection(...args: unknown[]): Socket }
  const connect = made.createConnection.bind(agent)
  made.createConnection = (...args) => {
    const socket = connect(...args)
    sockets.push(socket)
    return socket
  }
  return { agent, sockets, spares: openSpares(agent, () => most, now) }
}

const get = (port: number, agent: http.Agent): Promise<string> =>
  new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, agent }, (response) => {
        response.setEncoding('utf8')
        response.on('data', resolve)
      })
      .on('error', reject)
  })

/** Waits as long as it takes on a busy machine, then a little for more than that. */
async function untilOpened(opened: readonly unknown[], count: number): Promise<void> {
  await vi.waitFor(() => expect(opened.length).toBeGreaterThanOrEqual(count), { timeout: 600_000 })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(opened).toHaveLength(count)
}

test('nothing is opened ahead unless it is allowed', async () => {
  const { port, opened } = await serve()
  const { agent } = agentWithSpares()
  for (let made = 0; made < 3; made += 1) await get(port, agent)
  await untilOpened(opened, 3)
})

test('connections that were opened ahead carry one call each', async () => {
  const { port, opened, used } = await serve()
  const { agent, spares } = agentWithSpares()
  spares.allow()
  for (let made = 0; made < 3; made += 1) {
    expect(await get(port, agent)).toBe('well')
    await untilOpened(opened, 3 + 2 * made)
  }
  expect([...used]).toEqual(opened.slice(0, 3))
  spares.close()
})

test('some are opened as soon as that is allowed', async () => {
  const { port, opened } = await serve()
  const { agent, spares } = agentWithSpares()
  await get(port, agent)
  spares.allow()
  spares.allow()
  await untilOpened(opened, 3)
  spares.close()
})

test('no more are open than allowed', async () => {
  const { port, opened } = await serve()
  const { agent, spares } = agentWithSpares({ most: 3 })
  spares.allow()
  await Promise.all([get(port, agent), get(port, agent)])
  await untilOpened(opened, 5)
  spares.close()
})

test('one that lay idle for long is not used', async () => {
  const { port, opened, used } = await serve()
  let nowMs = 0
  const { agent, spares } = agentWithSpares({ now: () => nowMs })
  spares.allow()
  await get(port, agent)
  await untilOpened(opened, 3)
  nowMs = 5000
  expect(await get(port, agent)).toBe('well')
  expect(used).toEqual(new Set([opened[0], opened[3]]))
  spares.close()
})

test('one that the server closed is not used, and no more are opened', async () => {
  const { port, opened } = await serve()
  const { agent, sockets, spares } = agentWithSpares()
  spares.allow()
  await get(port, agent)
  await untilOpened(opened, 3)
  servers[0]?.closeAllConnections()
  await vi.waitFor(() => expect(sockets.every(({ destroyed }) => destroyed)).toBe(true), { timeout: 600_000 })
  expect(await get(port, agent)).toBe('well')
  await untilOpened(opened, 4)
  spares.close()
})
