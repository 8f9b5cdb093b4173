/**
 * How well facts describe a server: every conforming variant is measured, a mock is made from its facts, and both are asked the same cases.
 *
 *     npm run facts-proof -- [--only TEXT]
 *
 * Exits with 1 where a mock answers fewer than 95 % of the calls with the same outcome, status and code, or a measured switch comes out
 * otherwise than it was set. Next to each number is what the reference server reaches without the facts: the mock may not be worse. The
 * servers' clocks are moved, so that nothing waits.
 */
import { proveMock } from '../suites/self/mock-of.ts'
import { type ConformingServer, conformingServers } from '../suites/servers/table.ts'
import { readArguments } from './arguments.ts'

const leastShare = 0.95

const { values } = readArguments({
  options: { only: { type: 'string', default: '' } },
})

/** @returns whether the mock is good enough */
async function prove({ id, profile, create, settings = {} }: ConformingServer): Promise<boolean> {
  const { sheet, calls, differences, ...control } = await proveMock(create(), settings)
  const withoutFacts = await control.withoutFacts()
  const share = 1 - differences.length / calls
  const found = sheet.profile as { [name: string]: unknown }
  const wrong = Object.entries(profile).filter(([name, value]) => name in found && found[name] !== value)
  const unmeasured = Object.keys(profile).filter((name) => !(name in found))
  const isGood = share >= leastShare && wrong.length === 0 && differences.length <= withoutFacts.length
  const notes = [
    `without facts ${percent(1 - withoutFacts.length / calls)}`,
    ...wrong.map(([name, value]) => `${name} is ${String(found[name])} instead of ${String(value)}`),
    ...unmeasured.map((name) => `${name} is not measured`),
    ...new Set(differences.map(({ call }) => call)),
  ]
  console.log(`${isGood ? '✓' : '✗'} ${id}: ${percent(share)}; ${notes.join('; ')}`)
  return isGood
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const variants = (await conformingServers('own')).filter(({ id }) => id.includes(values.only))
let good = 0
for (const variant of variants) if (await prove(variant)) good += 1
console.log(
  `${good} of ${variants.length} mocks answer at least ${leastShare * 100} % of the calls as their server does`,
)
process.exitCode = good === variants.length ? 0 : 1
