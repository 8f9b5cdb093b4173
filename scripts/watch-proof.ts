/**
 * Judges the recorded traffic of runs blind, and compares it with what the model finds that listens to the same runs.
 *
 *     npm run watch-proof [-- --sample N] [--only PREFIX] [--conforming]
 *
 * Exit code 1: a conforming server is accused, or less than 98 % of what is heard is seen.
 */
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { proveWatch } from '../suites/self/watch-proof.ts'
import { brokenServers, conformingServers } from '../suites/servers/table.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: {
    sample: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    conforming: { type: 'boolean', default: false },
  },
})
const corpus = await openCorpus()
const isMeant = ({ id }: { id: string }, index: number): boolean =>
  id.startsWith(values.only) && index % Number(values.sample) === 0
const counts = { heard: 0, seen: 0, more: 0, accused: 0, servers: 0, found: 0 }
for (const server of values.conforming ? [] : (await brokenServers()).filter(isMeant)) {
  const { heard, seen, id } = await proveWatch(server, corpus)
  const missed = heard.filter((one) => !seen.includes(one))
  counts.servers += 1
  counts.heard += heard.length
  counts.seen += heard.length - missed.length
  counts.more += seen.filter((one) => !heard.includes(one)).length
  if (seen.length > 0) counts.found += 1
  console.log(
    `${id}: heard ${heard.join(', ') || '-'}; seen ${seen.join(', ') || '-'}${missed.length === 0 ? '' : `; MISSED ${missed.join(', ')}`}`,
  )
}
let conforming = 0
for (const server of (await conformingServers()).filter(isMeant)) {
  const { messages, id, judged, calls } = await proveWatch(server, corpus)
  conforming += 1
  if (messages.length > 0) counts.accused += 1
  console.log(`${id}: ${judged} of ${calls} judged${messages.length === 0 ? '' : `; ACCUSED ${messages.join('; ')}`}`)
}
const share = counts.heard === 0 ? 1 : counts.seen / counts.heard
console.log(
  `${counts.seen} of ${counts.heard} heard findings are seen (${(share * 100).toFixed(1)} %), ${counts.more} more; something is seen of ${counts.found} of ${counts.servers} broken servers; ${counts.accused} of ${conforming} conforming ones accused`,
)
process.exitCode = share < 0.98 || counts.accused > 0 ? 1 : 0
