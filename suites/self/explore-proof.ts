/**
 * What finds a server that was broken, or accuses one that conforms: the scripted cases, the model after them, and the model alone.
 * The servers' clocks are moved, so that nothing waits.
 */
import type { CreatedKey } from '../engine/case/created-keys.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import type { TargetSettings } from '../engine/target.ts'
import { type ExploreOptions, explore } from '../explore/explore.ts'
import { type Handle, openMemoryWire } from '../explore/memory-wire.ts'
import { afterCases, isRepeated } from '../run/explore-after-cases.ts'
import { runAll } from '../run/run.ts'
import { createHandler, lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import { bundledSettings } from '../targets/bundled-settings.ts'

/** `run`: the cases, then the model with the keys that they left, as `run --disposable` does; `explore`: the model on a fresh server. */
export type Way = 'run' | 'explore'

export interface ProofServer {
  readonly id: string
  /** The requirement that it breaks; empty for a conforming one. */
  readonly breaks: string
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

export interface ProofFinding {
  readonly by: 'case' | 'model'
  readonly requirement: string
  readonly level: string
  /** The case, or the id of the finding. */
  readonly id: string
  readonly message: string
  /** How often the shortest form failed again. */
  readonly again: string
  readonly steps: number
}

export interface ProofLine {
  readonly way: Way
  readonly id: string
  readonly breaks: string
  readonly seed: number
  readonly calls: number
  readonly ms: number
  readonly found: readonly ProofFinding[]
}

export interface ProofOptions {
  readonly corpus: Corpus
  readonly seed: number
  /** Calls of the model at most. */
  readonly calls: number
  readonly walks: number
  /** Ends at the first finding. */
  readonly stopAtFirst: boolean
  /** Leaves the scripted cases out, where they were asked before. */
  readonly casesOnly?: boolean
}

/** Ends an exploration at its first finding. */
class Enough extends Error {}

const plainSettings: TargetSettings = {
  scheme: 'svc-hmac-sha256',
  signedUri: '/api',
  scopeNames: {},
  headers: {},
  probes: {},
  solutions: [],
  rate: 0,
  maxWaitMs: 0,
}

export async function prove(server: ProofServer, way: Way, options: ProofOptions): Promise<ProofLine> {
  const started = performance.now()
  const { calls, found } = way === 'run' ? await casesAndModel(server, options) : await modelAlone(server, options)
  const { id, breaks } = server
  return { way, id, breaks, seed: options.seed, calls, ms: Math.round(performance.now() - started), found }
}

type Told = Pick<ProofLine, 'calls' | 'found'>

async function casesAndModel(server: ProofServer, options: ProofOptions): Promise<Told> {
  const { corpus, seed, stopAtFirst, calls } = options
  const keys: CreatedKey[] = []
  const { built, context } = watched(server.create())
  const target = lastingTarget(built, server.settings)
  const outcomes = await runAll({
    target,
    corpus,
    seed,
    listener: (event) => {
      if (event.kind === 'key-noted' && 'created' in event.entry && event.entry.created.member !== undefined)
        keys.push(event.entry.created)
    },
  })
  const noticed = outcomes.flatMap((outcome): ProofFinding[] =>
    Object.entries(outcome.requirements).flatMap(([requirement, verdict]) =>
      verdict !== 'failed' && verdict !== 'warned'
        ? []
        : [
            {
              by: 'case',
              requirement,
              level: verdict === 'failed' ? 'must' : 'implied',
              id: outcome.key,
              message: outcome.problem?.kind ?? '',
              again: '1/1',
              steps: 0,
            },
          ],
    ),
  )
  const casesCalls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  const enough = options.casesOnly === true || (stopAtFirst && noticed.some((one) => isCatch(server.breaks, one)))
  if (enough || context.current === undefined) return { calls: casesCalls, found: noticed }
  const settings = { ...bundledSettings([]), ...server.settings }
  const { handle, server: of } = context.current
  const more = await askModel(handle, of, {
    settings,
    ...afterCases(keys, { allow: ['sessions', 'keys', 'limits'], calls }),
    seconds: 600,
    corpus,
    stopAtFirst,
  })
  return { calls: casesCalls + more.calls, found: [...noticed, ...more.found] }
}

/** At the requirement itself, or at any other as a failure. */
export const isCatch = (breaks: string, { requirement, level }: ProofFinding): boolean =>
  requirement === breaks || level === 'must'

async function modelAlone(server: ProofServer, options: ProofOptions): Promise<Told> {
  const { context, handle } = createHandler({ clock: 'virtual', ...server.create() })
  return askModel(handle, context, {
    settings: { ...plainSettings, ...server.settings },
    allow: { sessions: true, keys: true, limits: true },
    fresh: true,
    seed: options.seed,
    maxCalls: options.calls,
    seconds: 600,
    walks: options.walks,
    corpus: options.corpus,
    stopAtFirst: options.stopAtFirst,
  })
}

type Context = ReturnType<typeof createHandler>['context']

interface Asked extends Omit<ExploreOptions, 'wire' | 'root' | 'loopback' | 'requirements' | 'say' | 'onFinding'> {
  readonly corpus: Corpus
  readonly stopAtFirst: boolean
}

async function askModel(handle: Handle, context: Context, asked: Asked): Promise<Told> {
  const { clock, root, profile } = context
  const { corpus, stopAtFirst, ...options } = asked
  let calls = 0
  const wire = openMemoryWire(handle, clock, `${profile.basePath}/api`)
  const send: typeof wire.send = (request) => {
    calls += 1
    return wire.send(request)
  }
  const found: ProofFinding[] = []
  try {
    await explore({
      ...options,
      wire: { ...wire, send },
      root: { kind: 'secret', id: root.id, secret: root.secret },
      loopback: true,
      requirements: corpus.requirements,
      say: () => {},
      onFinding: (finding) => {
        if (!isRepeated(finding)) return
        const { requirement, level, id, message, reproduced, steps } = finding
        const again = `${reproduced.failed}/${reproduced.tries}`
        found.push({ by: 'model', requirement, level, id, message, again, steps: steps.length })
        if (stopAtFirst) throw new Enough()
      },
    })
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
  return { calls, found }
}

/** The same server, with what the model needs to ask it in memory. */
function watched(server: Omit<ServerOptions, 'clock'>): {
  built: Omit<ServerOptions, 'clock'>
  context: { current: { handle: Handle; server: Context } | undefined }
} {
  const context: { current: { handle: Handle; server: Context } | undefined } = { current: undefined }
  const around: NonNullable<ServerOptions['around']> = (inner, of) => {
    const handle = server.around === undefined ? inner : server.around(inner, of)
    context.current = { handle, server: of }
    return handle
  }
  return { built: { ...server, around }, context }
}
