import type { Variant } from '../targets/bundled.ts'

/** Several variants in one server. */
export interface Merged {
  ids: string[]
  profile: Variant['profile']
  rules: NonNullable<Variant['rules']>
  settings: NonNullable<Variant['settings']> | Record<string, never>
}

/** No switch or rule of one is set otherwise by the other. */
export function compatible(one: Variant, other: Variant): boolean {
  const chosen = new Map<string, unknown>(Object.entries({ ...one.profile, ...one.rules }))
  return Object.entries({ ...other.profile, ...other.rules }).every(
    ([name, value]) => !chosen.has(name) || chosen.get(name) === value,
  )
}

export function merge(members: readonly Variant[]): Merged {
  return {
    ids: members.map(({ id }) => id),
    profile: Object.assign({}, ...members.map(({ profile }) => profile)) as Variant['profile'],
    rules: Object.assign({}, ...members.map((member) => member.rules ?? {})) as Merged['rules'],
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
  const servers: Variant[][] = []
  while (open.size > 0) {
    const members = fullServer(variants, (one, other) => open.has(pairName(one, other)))
    for (const [one, other] of pairsOf(members)) open.delete(pairName(one, other))
    servers.push(members)
  }
  return withoutNeedless(servers)
    .filter((members) => members.length > 0)
    .map(merge)
}

/** Leaves members out that meet all others of their server elsewhere: some variants make every call dearer. */
function withoutNeedless(servers: Variant[][]): Variant[][] {
  const meetings = new Map<string, number>()
  const count = (one: Variant, other: Variant, by: number): void => {
    const name = pairName(one, other)
    meetings.set(name, (meetings.get(name) ?? 0) + by)
  }
  for (const server of servers) for (const [one, other] of pairsOf(server)) count(one, other, 1)
  return servers.map((server) => {
    let kept = server
    for (const member of server) {
      const others = kept.filter((one) => one !== member)
      if (others.some((other) => (meetings.get(pairName(member, other)) ?? 0) < 2)) continue
      for (const other of others) count(member, other, -1)
      kept = others
    }
    return kept
  })
}

/** Takes the variant that brings the most open pairs with the members, then with all others, until no further one fits. */
function fullServer(variants: readonly Variant[], isOpen: (one: Variant, other: Variant) => boolean): Variant[] {
  const members: Variant[] = []
  const worth = (candidate: Variant): number =>
    members.filter((member) => isOpen(member, candidate)).length * variants.length +
    variants.filter((other) => isOpen(candidate, other)).length
  for (;;) {
    const candidates = variants.filter(
      (candidate) => !members.includes(candidate) && members.every((member) => compatible(member, candidate)),
    )
    const [first, ...others] = candidates
    if (first === undefined) return members
    members.push(others.reduce((best, candidate) => (worth(candidate) > worth(best) ? candidate : best), first))
  }
}

const pairName = (one: Variant, other: Variant): string => [one.id, other.id].sort().join(' + ')
