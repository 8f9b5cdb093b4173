/** The reference server as a distant one in simulated time. What a call takes is modelled: round trips, and opening connections. */

import { EventEmitter } from 'node:events'
import type http from 'node:http'
import { createHandler } from '../../mock-server/handler.ts'
import {
  bareSettings,
  type Instance,
  type Target,
  type WireAnswer,
  type WireRequest,
} from '../../suites/engine/target.ts'
import { openInProcess } from '../../suites/targets/in-memory.ts'
import { openSpares } from '../../suites/targets/transport.ts'
import { urlSettings } from '../../suites/targets/url.ts'
import type { SimulatedTime } from './simulated-time.ts'

const baseUrl = 'http://127.0.0.1:9'
const rootKey = { id: 'bench', secret: 'not-a-secret-0001' }
/** What both sides need for a call. */
const workMs = 4

interface Connection {
  readyAtMs: number
}

export function simulatedTarget(time: SimulatedTime, roundTripMs: number): Target {
  const clock = { now: time.now, advance() {}, set() {}, freeze() {}, frozen: false }
  const { handle } = createHandler({ rootKey, clock })
  const settings = urlSettings(baseUrl, bareSettings)
  const inProcess = openInProcess({ handle, baseUrl, requestTimeoutMs: 10_000, secondAddress: settings.secondAddress })
  const connect = (): Connection => ({ readyAtMs: time.now() + roundTripMs })

  async function over({ readyAtMs }: Connection, request: WireRequest): Promise<WireAnswer> {
    await time.sleep(Math.max(0, readyAtMs - time.now()) + roundTripMs / 2)
    const answer = await inProcess({ ...request, raw: false })
    await time.sleep(roundTripMs / 2 + workMs)
    return answer ?? { kind: 'none', reason: 'not simulated', refusedConnection: false, stale: false }
  }

  function open(): Instance {
    const kept: Connection[] = []
    const warm: Connection[] = []
    let underWay = 0
    let mostAtOnce = 0
    const agent = {
      createConnection: () => Object.assign(new EventEmitter(), connect(), { ref() {}, unref() {}, destroy() {} }),
    }
    const spares = openSpares(agent as unknown as http.Agent, () => mostAtOnce, time.now)
    const connectionFor = ({ from, connection = 'kept' }: WireRequest): Connection => {
      if (from === 'second-address' || connection === 'fresh') return connect()
      return connection === 'unused' ? agent.createConnection() : (kept.pop() ?? connect())
    }
    return {
      baseUrl,
      root: { kind: 'secret', ...rootKey },
      settings,
      clock: { now: () => Math.round(time.now()), sleep: time.sleep, controlled: false },
      async send(request) {
        const wasIdle = kept.length > 0
        underWay += 1
        mostAtOnce = Math.max(mostAtOnce, underWay)
        const connection = connectionFor(request)
        const answer = await over(connection, request)
        underWay -= 1
        if ((request.connection ?? 'kept') === 'kept' && request.from !== 'second-address') kept.push(connection)
        if (request.connection === 'unused' && wasIdle && kept.length > 0) spares.allow()
        return answer
      },
      async sendTogether(requests) {
        const used = requests.map(({ connection }) => (connection === 'warm' && warm.pop()) || connect())
        const readyAtMs = Math.max(...used.map((one) => one.readyAtMs))
        const answers = await Promise.all(requests.map((request) => over({ readyAtMs }, request)))
        warm.push(...used.filter((_, index) => requests[index]?.connection === 'warm'))
        return answers
      },
      async endRaces() {
        warm.length = 0
      },
      async close() {
        spares.close()
      },
    }
  }
  return { name: baseUrl, lasting: true, fresh: true, open: async () => open() }
}
