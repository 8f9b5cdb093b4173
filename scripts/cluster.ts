/**
 * A cluster of two processes, for `npm run races`. Both nodes share one port and one store. The slow node waits between checking a call and
 * applying its effect: the first argument is that delay in ms, and with 0 the cluster conforms. The process sends its parent the port and the
 * root key when it is ready, and exits when the parent disconnects.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import cluster from 'node:cluster'
import http from 'node:http'
import { startMockServer } from '../suites/targets/bundled.ts'

export interface ClusterAddress {
  readonly port: number
  readonly rootKey: { readonly id: string; readonly secret: string }
}

const nodeHeader = 'x-node'

/** Keeps the state, and starts the nodes. The system hands connections to the nodes in turn. */
async function runStore(slowMs: number): Promise<void> {
  const nodeOfCall = new AsyncLocalStorage<unknown>()
  const store = await startMockServer({
    around: (handle) => (request) => nodeOfCall.run(request.headers[nodeHeader], () => handle(request)),
    rules: {
      beforeEffect: () =>
        slowMs > 0 && nodeOfCall.getStore() === 'slow'
          ? new Promise((resolve) => setTimeout(resolve, slowMs))
          : undefined,
    },
  })
  const ports = ['fast', 'slow'].map((name) => {
    const node = cluster.fork({ STORE_PORT: new URL(store.url).port, NODE_NAME: name })
    return new Promise<number>((resolve) => node.once('listening', ({ port }) => resolve(port)))
  })
  const [port = 0] = await Promise.all(ports)
  const address: ClusterAddress = { port, rootKey: store.rootKey }
  process.send?.(address)
  process.once('disconnect', () => process.exit())
}

/** Passes each call to the store with the name of the node. */
function runNode({ STORE_PORT: port, NODE_NAME: name }: NodeJS.ProcessEnv): void {
  const agent = new http.Agent({ keepAlive: true })
  const node = http.createServer((call, answer) => {
    const { method, url: path, headers } = call
    const passed = http.request({ port, agent, method, path, headers: { ...headers, [nodeHeader]: name } }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    call.pipe(passed)
  })
  node.listen(0, '127.0.0.1')
}

if (cluster.isPrimary) await runStore(Number(process.argv[2]))
else runNode(process.env)
