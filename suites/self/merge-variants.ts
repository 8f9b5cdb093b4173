import type { Variant } from '../targets/bundled.ts'

/** Several variants in one server. */
export interface Merged {
  ids: string[]
  profile: Variant['profile']
  settings: NonNullable<Variant['settings']> | Record<string, never>
}

/** No switch of one is set otherwise by the other. */
export function compatible(one: Variant, other: Variant): boolean {
  const switches = new Map<string, unknown>(Object.entries(one.profile))
  return Object.entries(other.profile).every(([name, value]) => !switches.has(name) || switches.get(name) === value)
}

export function merge(members: readonly Variant[]): Merged {
  return {
    ids: members.map(({ id }) => id),
    profile: Object.assign({}, ...members.map(({ profile }) => profile)) as Variant['profile'],
    settings: Object.assign({}, ...members.map(({ settings }) => settings ?? {})) as Merged['settings'],
  }
}

/** Every pair of variants that can be one server. */
export function pairsOf(variants: readonly Variant[]): [Variant, Variant][] {
  return variants.flatMap((one, index) =>
    variants
      .slice(index + 1)
      .filter((other) => compatible(one, other))
      .map((other): [Variant, Variant] => [one, other]),
  )
}

/**
 * Few servers in which every compatible pair of variants meets at least once: a covering array, made greedily. The same variants
 * give the same servers.
 */
export function coveringServers(variants: readonly Variant[]): Merged[] {
  const open = new Set(pairsOf(variants).map(([one, other]) => pairName(one, other)))
  const servers: Merged[] = []
  while (open.size > 0) {
    const members: Variant[] = []
    const gain = (candidate: Variant): number =>
      members.filter((member) => open.has(pairName(member, candidate))).length
    const openPairsOf = (candidate: Variant): number =>
      variants.filter((other) => open.has(pairName(candidate, other))).length
    for (;;) {
      const candidates = variants.filter(
        (candidate) => !members.includes(candidate) && members.every((member) => compatible(member, candidate)),
      )
      const worth = members.length === 0 ? openPairsOf : gain
      const best = candidates.reduce<Variant | undefined>(
        (found, candidate) => (found === undefined || worth(candidate) > worth(found) ? candidate : found),
        undefined,
      )
      if (best === undefined || (members.length > 1 && worth(best) === 0)) break
      members.push(best)
    }
    for (const [one, other] of pairsOf(members)) open.delete(pairName(one, other))
    servers.push(merge(members))
  }
  return servers
}

const pairName = (one: Variant, other: Variant): string => [one.id, other.id].sort().join(' + ')
