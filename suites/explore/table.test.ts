import { expect, test } from 'vitest'
import { readDeviations } from '../engine/language/deviations.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { bareSettings } from '../engine/target.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { TargetGone } from './explorer.ts'
import type { Caller } from './keyring.ts'
import { callCells, cells, openTable } from './table.ts'
import { foundIn } from './test-findings.ts'

type Cell = ReturnType<typeof cells>[number]

/** Makes the calls of some cells of the table. @param controlled whether the clock can be moved */
async function callThose(caller: Caller, isWanted: (cell: Cell) => boolean, controlled = true) {
  Object.assign(caller.x.clock, { controlled })
  const table = openTable(cells(readDeviations(), seededRandom(1)).filter(isWanted))
  const before = caller.x.log.length
  await callCells(caller, table, { isOver: () => false })
  return { ...table, made: caller.x.log.slice(before).flatMap(({ seen }) => seen) }
}

/** Some harmless cells and some that grant, of a server that compares only the beginning of a Basic secret. */
async function callSome(answerMs: number, concurrency?: number) {
  let underWay = 0
  let most = 0
  const around: NonNullable<ServerOptions['around']> =
    (handle, { clock }) =>
    async (request) => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(setImmediate)
      clock.advance(answerMs)
      underWay -= 1
      return handle(request)
    }
  const rules: ServerOptions['rules'] = { secretMatches: (sent, kept) => sent.slice(0, 8) === kept.slice(0, 8) }
  const settings = { ...bareSettings, ...(concurrency === undefined ? {} : { concurrency }) }
  const run = async (caller: Caller): Promise<void> => {
    const isOfThese = ({ way, turn }: Cell): boolean => turn < 4 && ['basic', 'hmac', 'grant'].includes(way)
    const table = await callThose(caller, isOfThese, false)
    expect([table.left, table.asked]).toEqual([[], table.all])
  }
  const { found } = await foundIn({ around, rules }, run, { settings })
  return { most, found: new Set(found.map(({ requirement, script }) => `${requirement} in ${script}`)) }
}

test('where the target is gone, no lane goes on', async () => {
  let calls = 0
  const around: NonNullable<ServerOptions['around']> =
    (handle, { clock }) =>
    async (request) => {
      const number = ++calls
      for (let turn = 0; turn < number % 5; turn += 1) await new Promise(setImmediate)
      clock.advance(20)
      return { ...(await handle(request)), hangUp: number > 100 }
    }
  const gone = foundIn({ around }, (caller) => callThose(caller, ({ way }) => way === 'basic', false))
  await expect(gone).rejects.toBeInstanceOf(TargetGone)
  const atEnd = calls
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  expect(calls).toBe(atEnd)
})

test('answers that take their time are awaited several at once, as the target takes them, and the findings are the same', async () => {
  const near = await callSome(0)
  expect([near.most, near.found.size > 0]).toEqual([1, true])
  expect(await callSome(20)).toEqual({ ...near, most: 4 })
  expect(await callSome(1)).toEqual({ ...near, most: 3 })
  expect(await callSome(20, 2)).toEqual({ ...near, most: 2 })
})

test('creations that break only an implied sentence come last: a server that takes them has no place left for the others', () => {
  const all = cells(readDeviations(), seededRandom(1))
  const isLate = ({ way, creates, isImplied }: Cell): boolean =>
    isImplied && (creates === true || way.startsWith('create'))
  const first = all.findIndex(isLate)
  expect(all.slice(first).every(isLate)).toBe(true)
  // What comes before the worlds is chosen by its turn.
  expect(all.slice(first).every(({ turn }) => turn > 100)).toBe(true)
  expect(all.slice(0, first).some(({ isImplied }) => isImplied)).toBe(true)
  expect(all.slice(0, first).some(({ creates }) => creates)).toBe(true)
})

test('nor does any other change of that kind ride on a creation', async () => {
  await foundIn({}, async (caller) => {
    const isLate = ({ isImplied, creates, way, turn }: Cell): boolean =>
      isImplied && creates !== true && way === 'basic' && turn < 20
    const { made } = await callThose(caller, isLate)
    expect([made.length > 20, made.some(({ step }) => step.call === 'manager/createApiKey')]).toEqual([true, false])
  })
})

test('what a target forgives in a listing is not tried in a creation', async () => {
  const basicPair = (encoded: string) => {
    const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':')
    return { id, secret }
  }
  await foundIn({ rules: { basicPair } }, async (caller) => {
    const { made } = await callThose(caller, ({ id }) => id === 'table/basic/basic-blob')
    const letIn = made.flatMap(({ step, answer }) => (step.alter && answer.kind === 'accepted' ? [step.call] : []))
    expect([letIn.length > 3, letIn.includes('manager/createApiKey')]).toEqual([true, false])
  })
})
