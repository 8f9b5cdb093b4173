/** Defects that a deployed server had, for the reference server that keeps its state over a run. */
import { createHash } from 'node:crypto'
import type { Target, TargetSettings } from '../engine/target.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'

export interface Defect {
  id: string
  server(): ServerOptions
  /** Requirements that it breaks. */
  breaks: readonly string[]
  /** Whether the run treats the target as not fresh. */
  hasPast?: true
}

/** Long enough for calls that were sent together to meet. */
const tornMs = 10

/** Time passes between a decision and its effect. */
const lostRaces: Defect = {
  id: 'races-lost',
  server: () => ({
    rules: {
      beforeEffect: (effect) =>
        effect === 'listing' ? undefined : new Promise((resolve) => setTimeout(resolve, tornMs)),
    },
  }),
  breaks: ['limits/ten-keys', 'sessions/at-most-sixteen', 'refresh/revokes-refresh'],
}

const expiresInIgnored: Defect = {
  id: 'expires-in-ignored',
  server: () => ({ rules: { accessLifeMs: (_asked, profile) => profile.accessLifeMs } }),
  breaks: ['expires-in/enforced', 'expires-in/reported'],
}

/** The server accepts a secret that anybody can compute from the public key. */
const derivableSecret: Defect = {
  id: 'derivable-secret',
  server: () => ({
    rules: {
      secretTakenFor: () => true,
      secretsOf: (key) => [
        key.publicKey === undefined ? key.secret : createHash('sha256').update(key.publicKey).digest('hex'),
      ],
    },
  }),
  breaks: ['basic/public-key-refused', 'grants/public-key-refused'],
}

const plain500: Defect = {
  id: 'refusals-are-500',
  server: () => ({
    around: (handle) => async (request) => {
      const answer = await handle(request)
      return answer.body.includes('"error"') ? { ...answer, status: 500, body: 'Internal Server Error' } : answer
    },
  }),
  breaks: [],
}

const unknownTokenWord: Defect = {
  id: 'unknown-token-word',
  server: () => ({ profile: { tokenPrefix: 'X-Access' } }),
  breaks: [],
}

const fullOfKeys: Defect = {
  id: 'full-of-keys',
  server: () => ({ rules: { keyLimit: () => 0 } }),
  breaks: [],
  hasPast: true,
}

const firstFour = [lostRaces, expiresInIgnored, derivableSecret, plain500]

/** Each defect alone, and the first four together. */
export const defectSets: readonly (readonly Defect[])[] = [
  ...firstFour.map((one) => [one]),
  [unknownTokenWord],
  [fullOfKeys],
  firstFour,
]

/**
 * A server with these defects that keeps its state over a run.
 *
 * @param settings what a user would declare about it
 */
export function brokenTarget(defects: readonly Defect[], settings: Partial<TargetSettings> = {}): Target {
  const servers = defects.map(({ server }) => server())
  const server = {
    ...Object.assign({}, ...servers),
    rules: Object.assign({}, ...servers.map((one) => one.rules ?? {})),
  }
  const target = lastingTarget(server, settings)
  return defects.some(({ hasPast }) => hasPast) ? { ...target, fresh: false } : target
}
