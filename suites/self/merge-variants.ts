import type { ConformingServer as Variant } from '../targets/bundled.ts'

/** Several variants in one server. */
export interface Merged {
  ids: string[]
  profile: Variant['profile']
  rules: NonNullable<ReturnType<Variant['create']>['rules']>
  settings: NonNullable<Variant['settings']> | Record<string, never>
}

/** Whether no switch or rule of one is set differently by the other. */
export function compatible(one: Variant, other: Variant): boolean {
  const chosen = new Map<string, unknown>(Object.entries({ ...one.profile, ...one.create().rules }))
  return Object.entries({ ...other.profile, ...other.create().rules }).every(
    ([name, value]) => !chosen.has(name) || chosen.get(name) === value,
  )
}

export function merge(members: readonly Variant[]): Merged {
  return {
    ids: members.map(({ id }) => id),
    profile: Object.assign({}, ...members.map(({ profile }) => profile)) as Variant['profile'],
    rules: Object.assign({}, ...members.map((member) => member.create().rules ?? {})) as Merged['rules'],
    settings: Object.assign({}, ...members.map(({ settings }) => settings ?? {})) as Merged['settings'],
  }
}

/** Every pair of variants that fit into one server; variants that are tried alone are in no pair. */
export function pairsOf(variants: readonly Variant[]): [Variant, Variant][] {
  const combined = variants.filter(({ alone }) => !alone)
  return combined.flatMap((one, index) =>
    combined
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
  const combined = variants.filter(({ alone }) => !alone)
  const pairs = pairsOf(combined)
  const partners = meetingsOf(pairs)
  const open = meetingsOf(pairs)
  const servers: Variant[][] = []
  while ([...open.values()].some(({ size }) => size > 0)) {
    const members = fullServer(combined, partners, open)
    for (const member of members) for (const other of members) open.get(member)?.delete(other)
    servers.push(members)
  }
  return withoutNeedless(servers)
    .filter((members) => members.length > 0)
    .map(merge)
}

/** The partners of each variant. */
type Meetings = ReadonlyMap<Variant, Set<Variant>>

function meetingsOf(pairs: readonly [Variant, Variant][]): Meetings {
  const meetings = new Map<Variant, Set<Variant>>()
  const meet = (one: Variant, other: Variant) => meetings.set(one, (meetings.get(one) ?? new Set()).add(other))
  for (const [one, other] of pairs) {
    meet(one, other)
    meet(other, one)
  }
  return meetings
}

/** Leaves members out that meet all others of their server elsewhere: some variants make every call dearer. */
function withoutNeedless(servers: readonly (readonly Variant[])[]): Variant[][] {
  const kept = servers.map((server) => new Set(server))
  const meetElsewhere = (here: Set<Variant>, one: Variant, other: Variant): boolean =>
    kept.some((server) => server !== here && server.has(one) && server.has(other))
  for (const server of kept) {
    for (const member of server) {
      const others = [...server].filter((one) => one !== member)
      if (others.every((other) => meetElsewhere(server, member, other))) server.delete(member)
    }
  }
  return kept.map((server) => [...server])
}

/** Takes the variant that brings the most open pairs with the members, then with all others, until no further one fits. */
function fullServer(variants: readonly Variant[], partners: Meetings, open: Meetings): Variant[] {
  const members: Variant[] = []
  let candidates = variants
  const worth = (candidate: Variant): number => {
    const openHere = open.get(candidate)
    const withMembers = members.filter((member) => openHere?.has(member)).length
    return withMembers * variants.length + (openHere?.size ?? 0)
  }
  for (;;) {
    const [first, ...others] = candidates
    if (first === undefined) return members
    const best = others.reduce((one, other) => (worth(other) > worth(one) ? other : one), first)
    members.push(best)
    candidates = candidates.filter((candidate) => partners.get(best)?.has(candidate))
  }
}
