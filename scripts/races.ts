/**
 * How often each server that loses a race is found: by the scripted races through sockets, and by those of the model in memory. Servers
 * that decide 2 ms, a turn of the event loop or a few microtasks before the effect, and two nodes of which one is slower, in one process
 * and in processes of their own (there the model too calls through sockets).
 *
 *     npm run races -- [--runs N] [--only PREFIX]
 *
 * Exit code 1: a server is found in fewer than 19 of 20 runs by both together, or one that conforms is accused.
 */
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { clusters, isFoundByCases, isFoundByModel, serverInProcess, twoNodes } from '../suites/self/race-proof.ts'
import { loadIndependentMutants } from '../suites/targets/bundled.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: { runs: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
})
const runs = Number(values.runs)
const leastShare = 19 / 20

const corpus = await openCorpus()
const torn = (await loadIndependentMutants())
  .filter(({ id }) => /-(before-(revocation|creation))$/.test(id))
  .map(({ id, breaks, create }) => serverInProcess(id, breaks, create))
const reference = serverInProcess('reference', '', () => ({}))
const servers = [reference, ...torn, twoNodes, ...clusters].filter(({ id }) => id.startsWith(values.only))

console.log('| server | by the cases | by the model | by either |\n|---|---|---|---|')
for (const server of servers) {
  const count = { cases: 0, model: 0, either: 0 }
  for (let seed = 1; seed <= runs; seed++) {
    const byCases = await isFoundByCases(server, corpus, seed)
    const byModel = await isFoundByModel(server, corpus, seed)
    count.cases += Number(byCases)
    count.model += Number(byModel)
    count.either += Number(byCases || byModel)
  }
  const isRight = server.breaks === ''
  const wrong = isRight ? count.either > 0 : count.either < leastShare * runs
  if (wrong) process.exitCode = 1
  console.log(`| ${server.id} | ${count.cases} of ${runs} | ${count.model} of ${runs} | ${count.either} of ${runs} |`)
}
