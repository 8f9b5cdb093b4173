/** Runs one test client as an adapter: `node run.mjs ID`, with the environment that `svc-conformance client` gives. */
import { runClient } from './core.mjs'
import { clients } from './index.mjs'

const id = process.argv[2]
const client = clients.find((one) => one.id === id)
if (client === undefined) {
  process.stderr.write(`Give the id of a test client; there is no "${id}"\n`)
  process.exit(2)
}
await runClient(process.env, client.parts)
