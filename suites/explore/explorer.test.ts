import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { TargetGone } from './explorer.ts'
import type { Caller } from './keyring.ts'
import { anyCall, basic, changed, grant, hmac, list, none, token } from './step.ts'
import { brokenBy, foundIn } from './test-findings.ts'

const wrong = changed(list(basic('root')), { field: 'basic-secret', operation: 'inside-changed' })

const wrongTries = async ({ x }: Caller): Promise<void> => {
  for (let at = 0; at < 30; at++) await x.call(wrong)
}

test('a target that hangs up instead of refusing is not gone until it answers no right call either', async () => {
  let hasGone = false
  const around: NonNullable<ServerOptions['around']> = (handle) => async (request) => {
    const answer = await handle(request)
    return hasGone || answer.body.includes('"error"') ? { ...answer, hangUp: true } : answer
  }
  expect(await brokenBy({ around }, wrongTries)).toEqual([])
  const gone = brokenBy({ around }, (caller) => {
    hasGone = true
    return wrongTries(caller)
  })
  await expect(gone).rejects.toBeInstanceOf(TargetGone)
})

test('what was foreseen is written again if its names stand for others now', async () => {
  await foundIn({}, async ({ x }) => {
    const [granted, used] = [grant('root', ['solution'], { as: 'pair' }), list(token('pair'))]
    await x.call(granted)
    x.foresee(used)
    await x.call(granted)
    expect((await x.call(used))?.call.authorization).toContain(x.names.get('pair')?.accessToken)
  })
})

test('one slow answer does not make a target slow', async () => {
  await foundIn({}, async ({ x }) => {
    for (const last of x.log.slice(-1))
      x.log.push({ ...last, seen: last.seen.map((one) => ({ ...one, span: { from: 0, to: 60_000 } })) })
    expect(x.callMs()).toBe(0)
  })
})

test('a call that is sent again has a nonce of its own, though few nonces suit its change', async () => {
  const nonces: string[] = []
  const around: NonNullable<ServerOptions['around']> = (handle) => async (request) => {
    const nonce = request.headers.authorization?.split(';')[3]
    const isAway = nonce !== undefined && nonces.push(nonce) % 2 === 1
    return isAway ? { status: 429, headers: { 'retry-after': '0' }, body: '' } : handle(request)
  }
  const marked = changed(list(hmac('root')), { field: 'signature', operation: 'slash-1-removed' })
  await foundIn({ around }, async ({ x }) => {
    for (let at = 0; at < 60; at++) await x.call({ ...marked }, 'refused')
  })
  expect([nonces.length > 20, new Set(nonces).size]).toEqual([true, nonces.length])
})

test('a signed body that is refused names its signature if such a body was accepted with another way to authorize', async () => {
  const around: NonNullable<ServerOptions['around']> = (inner) => (request) => {
    const isSigned = request.headers.authorization?.includes(';') === true
    const isPadded = request.body.toString().endsWith(' ')
    return inner(isSigned && isPadded ? { ...request, headers: {} } : request)
  }
  const padded = { body: 'space-appended' }
  const broken = await brokenBy({ around }, async ({ x }) => {
    // Everything on which the last call rests was shown.
    for (const call of [list(basic('root'), padded), list(hmac('root')), list(hmac('root'), padded)]) await x.call(call)
  })
  expect(broken).toEqual(['signatures/request-body'])
})

test('a refused call that names a key in its params alone is a wrong try of that key, too', async () => {
  await foundIn({}, async ({ x }) => {
    const id = x.names.get('by-basic')?.id ?? ''
    expect(x.triesOf(id)).toBe(0)
    await x.call(anyCall('solution/listSolutions', { apiKeyId: id, apiKeySecret: 'wrong' }, none))
    expect(x.triesOf(id)).toBe(1)
  })
})

test('after the overtime no call is made, and waits end at once', async () => {
  await foundIn({}, async ({ x }) => {
    Object.assign(x.options, { overtimeMs: 1000, timeLeftMs: () => -999 })
    expect(await x.call(list(basic('root')))).not.toBeNull()
    Object.assign(x.options, { timeLeftMs: () => -1000 })
    const nowMs = x.clock.now()
    await x.wait(5000)
    expect(x.clock.now()).toBe(nowMs)
    expect(await x.call(list(basic('root')))).toBeNull()
  })
})
