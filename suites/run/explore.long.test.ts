import { expect, test } from 'vitest'
import { bareSettings, type Instance, type WireAnswer } from '../engine/target.ts'
import { openExploration } from '../explore/explore.ts'
import { isShownAgain } from '../report/report.ts'
import { partUnlessProof } from '../self/proof-form.ts'
import { createHandler, type ServerOptions } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { openCorpus } from './corpus-cache.ts'
import { afterCases, timeOfModel } from './explore.ts'

type Rules = NonNullable<ServerOptions['rules']>

const callMs = 2
const wholeBudget = 16_000
const freshTarget: Parameters<typeof afterCases>[0] = {
  allow: ['sessions', 'keys', 'limits'],
  calls: wholeBudget,
  entries: [],
  testKeys: [],
  hasPlaces: true,
  only: null,
}

/** Explores a server that takes this many calls a second, on a clock that nobody waits for. @returns how long the model took, in ms on that clock */
async function modelMs(callsPerSecond: number, rules: Rules): Promise<{ ms: number; found: number }> {
  const rootKey = { id: 'root', secret: 'root-secret' }
  const { handle, context } = createHandler({ clock: 'virtual', rootKey, rules })
  const { clock } = context
  const settings = { ...bareSettings, clientAddress: '127.0.0.1' }
  const moved = memoryInstance({ handle, clock, root: { kind: 'secret', ...rootKey }, settings })
  const throttled: WireAnswer = { kind: 'answer', status: 429, headers: { 'retry-after': '1' }, body: new Uint8Array() }
  let taken: number[] = []
  const send: Instance['send'] = async (request) => {
    taken = taken.filter((ms) => ms > clock.now() - 1000)
    if (taken.length >= callsPerSecond) return throttled
    taken.push(clock.now())
    const answer = await moved.send(request)
    clock.advance(callMs)
    return answer
  }
  const { requirements } = await openCorpus()
  const startedMs = clock.now()
  const exploration = openExploration({
    ...afterCases(freshTarget),
    ...timeOfModel(wholeBudget, 'http://127.0.0.1'),
    monotonicMs: () => clock.now(),
    instance: { ...moved, clock: { ...moved.clock, controlled: false }, send },
    loopback: true,
    requirements,
    say: () => {},
  })
  await exploration.ask()
  exploration.giveWay()
  const { findings } = await exploration.finish()
  return { ms: clock.now() - startedMs, found: findings.filter(isShownAgain).length }
}

/** Tokens live as long as the server likes, and a surplus of sessions stays. */
const deployed: Rules = {
  accessLifeMs: (_asked, { accessLifeMs }) => accessLifeMs,
  sessionsRemoved: (live, surplus) => live.slice(0, Math.min(surplus, 1)),
}

const targets: [string, number, Rules, number][] = [
  ['a server that takes 30 calls a second', 30, {}, 0],
  ['a broken one that takes 30 calls a second', 30, deployed, 2],
  ['a broken one that takes 5 calls a second', 5, deployed, 1],
]

test.each(partUnlessProof(targets, 1, 2))(
  'against %s the model ends within twice the announced time',
  async (_what, callsPerSecond, rules, least) => {
    const { ms, found } = await modelMs(callsPerSecond, rules)
    const [announcedMs, oneCallMs] = [wholeBudget * callMs, 1000]
    expect(ms).toBeLessThanOrEqual(2 * announcedMs + oneCallMs)
    expect(found).toBeGreaterThanOrEqual(least)
  },
)
