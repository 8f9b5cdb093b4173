import { createHash } from 'node:crypto'
import type { Item } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { runAll } from '../run/run.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'

/** What runs in several orders showed about one server. */
interface Steadiness {
  /** Verdicts that differ from those of the first order, and failures of requirements that nothing broke. */
  problems: string[]
  /** How many cases got which verdict, in the first order. */
  counts: { [verdict: string]: number }
  /** Requirements that failed or warned. */
  broken: string[]
}

/**
 * Runs the same cases against a server with these defects, in the order of each seed: first one call at a time, then several at once.
 */
export async function runInOrders(
  { corpus, items }: { corpus: Corpus; items: readonly Item[] },
  defects: readonly Defect[],
  seeds: readonly number[],
): Promise<Steadiness> {
  const allowed = new Set(defects.flatMap(({ breaks }) => breaks))
  const problems: string[] = []
  const counts: Steadiness['counts'] = {}
  const broken = new Set<string>()
  const first = new Map<string, string>()
  for (const [index, seed] of seeds.entries()) {
    const servers = defects.map(({ server }) => server())
    const server = { ...Object.assign({}, ...servers), rules: Object.assign({}, ...servers.map(({ rules }) => rules)) }
    const lasting = lastingTarget(server, { concurrency: index % 2 === 0 ? 1 : 16 })
    const target = defects.some(({ hasPast }) => hasPast) ? { ...lasting, fresh: false } : lasting
    for (const { key, verdict, requirements } of await runAll({ target, corpus, items, seed })) {
      if (index === 0) {
        first.set(key, verdict)
        counts[verdict] = (counts[verdict] ?? 0) + 1
      } else if (first.get(key) !== verdict) problems.push(`seed ${seed}: ${key} was ${first.get(key)}, is ${verdict}`)
      for (const [id, one] of Object.entries(requirements)) {
        if (one !== 'failed' && one !== 'warned') continue
        broken.add(id)
        if (!allowed.has(id)) problems.push(`seed ${seed}: ${key} is ${one} for ${id}, which nothing broke`)
      }
    }
  }
  for (const id of allowed) if (!broken.has(id)) problems.push(`${id} is broken, and nothing failed`)
  return { problems, counts, broken: [...broken].sort() }
}

/** Defects that a deployed server had, for the reference server that keeps its state over a run. */

interface Defect {
  id: string
  server(): ServerOptions
  /** Requirements that it breaks. */
  breaks: readonly string[]
  /** Whether the run treats the target as not fresh. */
  hasPast?: true
}

/** Long enough for calls that were sent together to meet. */
const tornMs = 10

const firstFour: readonly Defect[] = [
  // Time passes between a decision and its effect.
  {
    id: 'races-lost',
    server: () => ({
      rules: {
        beforeEffect: (effect) =>
          effect === 'listing' ? undefined : new Promise((resolve) => setTimeout(resolve, tornMs)),
      },
    }),
    breaks: ['limits/ten-keys', 'sessions/at-most-sixteen', 'refresh/revokes-refresh'],
  },
  {
    id: 'expires-in-ignored',
    server: () => ({ rules: { accessLifeMs: (_asked, profile) => profile.accessLifeMs } }),
    breaks: ['expires-in/enforced', 'expires-in/reported'],
  },
  // The server accepts a secret that anybody can compute from the public key.
  {
    id: 'derivable-secret',
    server: () => ({
      rules: {
        secretTakenFor: () => true,
        secretsOf: ({ publicKey, secret }) => [
          publicKey === undefined ? secret : createHash('sha256').update(publicKey).digest('hex'),
        ],
      },
    }),
    breaks: ['basic/public-key-refused', 'grants/public-key-refused'],
  },
  {
    id: 'refusals-are-500',
    server: () => ({
      around: (handle) => async (request) => {
        const answer = await handle(request)
        return answer.body.includes('"error"') ? { ...answer, status: 500, body: 'Internal Server Error' } : answer
      },
    }),
    breaks: [],
  },
]

/** Each defect alone, and the first four together. */
export const defectSets: readonly (readonly Defect[])[] = [
  ...firstFour.map((one) => [one]),
  [{ id: 'unknown-token-word', server: () => ({ profile: { tokenPrefix: 'X-Access' } }), breaks: [] }],
  [{ id: 'full-of-keys', server: () => ({ rules: { keyLimit: () => 0 } }), breaks: [], hasPast: true }],
  firstFour,
]
