/** Requests lifetimes of every size. */
import { grant, list, token } from './calls.ts'
import type { Explorer } from './explorer-types.ts'
import { freshName, ownAddress } from './keyring.ts'
import type { CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** Makes a pair and uses it at once. */
async function useNew(x: Explorer, step: CallStep): Promise<void> {
  await x.call(step)
  if (step.as !== undefined && x.lines.has(step.as)) await x.call(list(token(step.as)))
}

/** expires-in/…: every size of NUMBER. */
export async function lifetimes(caller: Caller, who: string): Promise<void> {
  const { x } = caller
  x.script = `lifetimes/${who}`
  const refreshLife = x.state().refreshLifetimeMs
  const sizes = [
    100, 250, 500, 900, 1000, 1500, 2500, 5000, 9999, 11_000, 12_000, 13_000, 15_000, 20_000, 30_000, 59_000, 60_000,
    61_000, 119_000, 300_000, 600_000, 900_000, 901_000, 1_800_000, 3_600_000, 3_601_000, 7_200_000, 43_200_000,
    86_400_000, 86_401_000,
  ]
  const around = refreshLife === null ? [] : [0.5, 0.9, 0.99].map((share) => Math.round(refreshLife * share))
  const beyond =
    refreshLife === null
      ? []
      : [refreshLife - 5000, refreshLife + 2000, refreshLife + 60_000, refreshLife * 2, refreshLife * 10].map(
          Math.round,
        )
  const edges = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 5000, 2 ** 32, 2 ** 32 + 5000, 1e10, 1e12, 1e13, 2 ** 53 - 1]
  for (const size of [...new Set([...sizes, ...around, ...beyond, ...edges])]
    .filter((one) => one > 0)
    .sort((a, b) => a - b))
    await useNew(x, grant(who, ['solution', `expiresIn:${size}`], { as: freshName(x) }))
  for (const size of [2000, 15_000, 12_345, ...beyond.slice(1, 4), 2 ** 31, 1e12])
    for (const more of [['session:life-$unique'], ownAddress(x)])
      await x.call(grant(who, [`expiresIn:${size}`, 'solution', ...more], { as: freshName(x) }))
}
