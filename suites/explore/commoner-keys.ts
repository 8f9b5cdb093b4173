/** Puts the keys that a reader knows in the place of others: a finding that does not need them is not about how they were created. */
import type { Explorer } from './explorer-types.ts'
import { namesIn, type Step } from './step.ts'

interface Exchange {
  readonly key: string
  readonly by: string
}

/** Which keys of a sequence may be exchanged: a key with a secret by the root key, one with a public key by the first of them. */
export function exchanges({ names }: Explorer, steps: readonly Step[]): Exchange[] {
  const used = [...new Set(steps.flatMap(namesIn))]
  return used.flatMap((key) => {
    const value = names.get(key)
    if (value?.id === undefined) return []
    const by = [root, firstWithPublicKey].find((one) => {
      const other = names.get(one)
      return one !== key && other?.id !== undefined && (other.seed === undefined) === (value.seed === undefined)
    })
    return by === undefined || key === root ? [] : [{ key, by }]
  })
}

const root = 'root'
const firstWithPublicKey = 'ecc-a'

/** The same steps with another key in its place. */
export function withKey(steps: readonly Step[], { key, by }: Exchange): Step[] {
  const reference = new RegExp(`\\$${key}(?=-own\\.|\\.)`, 'g')
  return JSON.parse(
    JSON.stringify(steps).replaceAll(`"who":"${key}"`, `"who":"${by}"`).replace(reference, `$$${by}`),
  ) as Step[]
}
