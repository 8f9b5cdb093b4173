/**
 * Records runs against broken and conforming servers as HAR, judges the traffic blind, and compares it with what the model finds that
 * listens to the same runs.
 *
 *     npm run watch-proof [-- --every N] [--only PREFIX] [--write]
 *
 * Every tenth server is asked, unless another number is given. `--write` writes the result into docs/watch.md. Exit code 1: a conforming
 * server is accused, a scenario fails on the reference server, or less than 98 % of what is heard, and can be seen, is seen.
 */
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { writeBlock } from '../suites/self/sources.ts'
import { proveWatch, type WatchProof, watchSummary } from '../suites/self/watch-proof.ts'
import { type BrokenServer, brokenServers, type ConformingServer, conformingServers } from '../suites/servers/table.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: {
    every: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    write: { type: 'boolean', default: false },
  },
})
const corpus = await openCorpus()

async function proveAll(servers: readonly (BrokenServer | ConformingServer)[]): Promise<WatchProof[]> {
  const proofs: WatchProof[] = []
  for (const server of servers
    .filter(({ id }) => id.startsWith(values.only))
    .filter((_, index) => index % Number(values.every) === 0)) {
    const proof = await proveWatch(server, corpus)
    proofs.push(proof)
    console.log(
      `${proof.id}: ${proof.judged} of ${proof.calls} judged; heard ${proof.heard.map(({ requirement }) => requirement).join(', ') || '-'}; seen ${proof.seen.join(', ') || '-'}`,
    )
  }
  return proofs
}

const conforming = await proveAll(await conformingServers())
const broken = await proveAll(await brokenServers())
const { text, details, isProved } = watchSummary(broken, conforming)
for (const line of details) console.log(line)
console.log(text)
if (values.write)
  writeBlock(
    'docs/watch.md',
    'proof',
    `Measured on ${new Date().toISOString().slice(0, 10)}, with one server of ${values.every}: ${text}`,
  )
process.exitCode = isProved ? 0 : 1
