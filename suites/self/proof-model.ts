/** The model in memory, as the proofs ask it: it may end at its first finding. */

import type { Corpus } from '../engine/language/fixture-types.ts'
import { levelOf } from '../engine/model/judge.ts'
import type { TargetSettings } from '../engine/target.ts'
import { type ExploreOptions, openExploration } from '../explore/explore.ts'
import { isShownAgain } from '../explore/findings.ts'
import type { createHandler } from '../targets/bundled.ts'
import { type Handle, memoryInstance } from '../targets/in-memory.ts'
import { unmovedInstance } from './unmoved.ts'

export interface ProofFinding {
  readonly by: 'case' | 'listening' | 'model'
  readonly requirement: string
  readonly level: string
  /** The case, or the id of the finding. */
  readonly id: string
  readonly message: string
  /** How often the shortest form failed again. */
  readonly again: string
  readonly steps: number
  /** The scenario that it was written as, or null, or what became of that scenario. */
  readonly fixture: string | null
  /** The text of one that does not work. */
  readonly scenario?: string | null
}

/** As a failure, or at the requirement itself, or as a warning where the broken requirement is only implied. */
export const isCatch = (breaks: string, { requirement, level }: ProofFinding): boolean =>
  requirement === breaks || level === 'must' || levelOf(breaks) === 'implied'

/** Ends an exploration at its first finding. */
class Enough extends Error {}

export type Context = ReturnType<typeof createHandler>['context']

interface Asked extends Omit<ExploreOptions, 'instance' | 'loopback' | 'requirements' | 'say' | 'onFinding'> {
  readonly settings: TargetSettings
  readonly corpus: Corpus
  readonly breaks: string
  readonly stopAtFirst: boolean
  readonly unmoved: boolean
  /** A run does not report a finding that never came again; `explore` does. */
  readonly onlyRepeated: boolean
}

interface ProofModel {
  readonly found: readonly ProofFinding[]
  calls(): number
  ask(): Promise<void>
  giveWay(): void
  finish(): Promise<void>
}

export function openModel({ handle, server }: { handle: Handle; server: Context }, asked: Asked): ProofModel {
  const { clock, root, profile } = server
  const { settings, corpus, stopAtFirst, onlyRepeated, breaks, unmoved, ...options } = asked
  let calls = 0
  let isOver = false
  const secret = { kind: 'secret', id: root.id, secret: root.secret } as const
  const moved = memoryInstance({ handle, clock, root: secret, settings, basePath: profile.basePath })
  const found: ProofFinding[] = []
  const model = openExploration({
    ...options,
    instance: unmoved ? unmovedInstance(moved, clock) : moved,
    onCall: (made) => {
      calls = made
    },
    loopback: true,
    requirements: corpus.requirements,
    say: () => {},
    onFinding: (finding) => {
      if (onlyRepeated && !isShownAgain(finding)) return
      const { requirement, level, id, message, reproduced, steps, fixture } = finding
      const again = `${reproduced.failed}/${reproduced.tries}`
      const one: ProofFinding = { by: 'model', requirement, level, id, message, again, steps: steps.length, fixture }
      found.push(one)
      if (stopAtFirst && isCatch(breaks, one)) throw new Enough()
    },
  })
  const unlessEnough = async (run: () => Promise<unknown>): Promise<void> => {
    try {
      if (!isOver) await run()
    } catch (error) {
      if (!(error instanceof Enough)) throw error
      isOver = true
    }
  }
  return {
    found,
    calls: () => calls,
    ask: () => unlessEnough(model.ask),
    giveWay: model.giveWay,
    finish: () => unlessEnough(model.finish),
  }
}
