import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { allItems, type Item } from '../engine/conversation/cases.ts'
import { SuiteError } from '../engine/errors.ts'
import type { Target } from '../engine/target.ts'
import type { Report } from '../report/report.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { type NullServer, nearlyNullServers, nullServers } from '../servers/null-servers.ts'
import { bundledSettings } from '../targets/bundled.ts'
import { urlTarget } from '../targets/url.ts'
import { bodyOf, listening } from './local-server.ts'
import { madeUpRun } from './made-up-report.ts'
import { turnUnlessProof } from './proof-form.ts'

const corpus = await openCorpus()

/** Everything that a user could declare, so that every case runs. Waiting is not allowed, because it would show nothing here. */
function targetOf({ requestTimeoutMs = 600_000 }: NullServer, url: string): Target {
  return urlTarget({
    url,
    root: { id: 'root-key-0001', kind: 'secret', secret: 'secret-of-root-0001' },
    settings: { ...bundledSettings(['solution-1', 'solution-2']), maxWaitMs: 0 },
    requestTimeoutMs,
    disposable: true,
  })
}

/** The same with a clock that `sleep` moves, so that cases that wait run too. */
function withMovedClock(target: Target): Target {
  let aheadMs = 0
  return {
    ...target,
    open: async () => {
      const instance = await target.open()
      const sleep = async (ms: number): Promise<void> => {
        aheadMs += ms
      }
      const clock = { now: () => Date.now() + aheadMs, sleep, controlled: true }
      return { ...instance, clock, settings: { ...instance.settings, maxWaitMs: Number.POSITIVE_INFINITY } }
    },
  }
}

async function ask(target: Target, items: Item[]): Promise<Report | SuiteError> {
  try {
    return madeUpRun(await runAll({ target, corpus, items }), { corpus })
  } catch (error) {
    if (error instanceof SuiteError) return error
    throw error
  }
}

const asItIs = (target: Target): Target => target

/** Outside of a proof each server gets another part of the cases; one that answers some calls rightly shows itself in fewer of them, so it gets more. */
const everyTurn = (server: NullServer): number => (nearlyNullServers.includes(server) ? 4 : 24)

const shownBy = async (server: NullServer, clocked: (target: Target) => Target): Promise<Report | SuiteError> => {
  const at = [...nullServers, ...nearlyNullServers].indexOf(server)
  const answering = createServer(async (request, response) => {
    server.answer({ request, response, body: (await bodyOf(request)).toString() })
  })
  const { url, close } = await listening(answering)
  try {
    return await ask(clocked(targetOf(server, url)), turnUnlessProof(allItems(corpus), everyTurn(server), at))
  } finally {
    close()
  }
}

test.each(turnUnlessProof(nullServers, 2, 0))(
  'a server that $name shows no guard and never conforms',
  async (server) => {
    const shown = await shownBy(server, server.isConvincing ? withMovedClock : asItIs)
    if (shown instanceof SuiteError) {
      expect({ code: shown.code, exitCode: shown.exitCode }).toEqual({ code: 'unreachable', exitCode: 3 })
      return
    }
    const guards = shown.requirements.filter(({ kind, verdict }) => kind === 'guard' && verdict === 'passed')
    expect(guards.map(({ id }) => id)).toEqual([])
    expect(shown).toMatchObject({ verdict: 'does-not-conform', exitCode: 1 })
  },
)

test.each(nearlyNullServers)('a server that $name never conforms', async (server) => {
  expect(await shownBy(server, withMovedClock)).toMatchObject({ verdict: 'does-not-conform', exitCode: 1 })
})
