/**
 * Prints the verdict on every test client: `npm run clients [-- WORD…]`, with words for those whose id or check holds one of
 * them. Exit code 1 where a right client does not pass, a broken one is not caught where it should be, or an inert one shows something.
 */

import {
  adapterClients,
  adapters,
  type Judgement,
  judgementProblem,
  judgeTestClient,
  loadCatalogue,
  type TestClient,
} from '../suites/self/clients/catalogue.ts'
import { readArguments } from './arguments.ts'

const { positionals: words } = readArguments({ allowPositionals: true })
const clients = [...adapterClients(), ...(await loadCatalogue())].filter(
  (client) =>
    words.length === 0 ||
    words.some((word) => `${client.kind} ${client.id} ${client.kind === 'broken' ? client.check : ''}`.includes(word)),
)
let problems = 0
for (const client of clients) {
  const judgement = await judgeTestClient(client)
  const problem = judgementProblem(client, judgement)
  if (problem !== null) problems += 1
  console.log(line(client, judgement, problem))
  if (problem !== null)
    for (const [check, message] of Object.entries(judgement.messages)) console.log(`      ${check}: ${message}`)
}
for (const { missing } of adapters) if (missing !== '') console.log(`NOT RUN: needs ${missing}`)
console.log(`${clients.length} clients, ${problems} judged wrongly`)
process.exitCode = problems > 0 ? 1 : 0

function line(client: TestClient, { failed, warned, durationMs }: Judgement, problem: string | null): string {
  const wrong = [...failed.map((id) => `✗ ${id}`), ...warned.map((id) => `! ${id}`)].join('  ')
  const head = `${problem === null ? '✓' : '✗'} ${client.kind.padEnd(6)} ${client.id} (${client.auth.join(', ')}; ${(durationMs / 1000).toFixed(1)} s)`
  return [head, ...(problem === null ? [] : [`    WRONG ${problem}`]), ...(wrong === '' ? [] : [`    ${wrong}`])].join(
    '\n',
  )
}
