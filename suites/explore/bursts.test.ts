import { describe, expect, test } from 'vitest'
import { loadIndependentMutants, loadIndependentVariants, type ServerOptions } from '../targets/bundled.ts'
import { pairsAtOnce, refreshRace, sessionRace, wrongBesideRight } from './bursts.ts'
import { learnAddresses } from './preflight.ts'
import type { Caller } from './table.ts'
import { brokenBy } from './test-findings.ts'

async function everyBurst(caller: Caller): Promise<void> {
  await learnAddresses(caller.x, 'root', true)
  for (const on of ['new', 'warm'] as const) {
    await wrongBesideRight(caller, 'root', on)
    await pairsAtOnce(caller, 'root', on)
    await refreshRace(caller, { who: 'root', on, count: 8, generation: 0 })
  }
  await sessionRace(caller, 'by-basic', 'new', 20)
}

const mutants = await loadIndependentMutants()
const variants = await loadIndependentVariants()
const withId = <One extends { id: string }>(all: readonly One[], id: string): One => {
  const found = all.find((one) => one.id === id)
  if (found === undefined) throw new Error(`There is no server "${id}"`)
  return found
}

describe('calls at once', () => {
  test.each(['writes-of-one-key-in-flight-together-conflict', 'refresh-in-work-makes-the-others-come-again'])(
    'accuse no server that lets writes wait for one another: %s',
    async (id) => {
      const { profile, create } = withId(variants, id)
      const server: Omit<ServerOptions, 'clock'> = { ...(profile === undefined ? {} : { profile }), ...create?.() }
      expect(await brokenBy(server, everyBurst)).toEqual([])
    },
  )

  test('show a scope that grants of one key share', async () => {
    let last: readonly string[] = []
    const rules: NonNullable<ServerOptions['rules']> = {
      beforeEffect: (effect) => (effect === 'session' ? new Promise((resolve) => setImmediate(resolve)) : undefined),
      grantedScope: (requested) => {
        last = requested
        return requested
      },
      grantResult: (result, pair) => {
        pair.scope = [...last]
        return result
      },
    }
    expect(await brokenBy({ rules }, everyBurst)).toContain('scopes/context')
  })

  test('accuse no server that makes sessions at once in another order', async () => {
    let turns = 20
    const around: NonNullable<ServerOptions['around']> = (handle) => async (request) => {
      const isGrant = String(request.body).includes('session:crowd')
      for (let left = isGrant ? turns-- : 0; left > 0; left--) await Promise.resolve()
      return handle(request)
    }
    expect(await brokenBy({ around }, (caller) => sessionRace(caller, 'by-basic', 'new', 20))).toEqual([])
    expect(turns).toBe(0)
  })

  test.each([
    ['calls-in-flight-share-the-address-of-the-last-one', 'addresses/bound'],
    ['bare-call-beside-authorized-call-in-flight-let-in', 'authorization/required'],
    ['last-of-refreshes-in-flight-undoes-revocations-of-the-others', 'refresh/revokes-access'],
  ])('show what a server shares between them: %s', async (id, requirement) => {
    expect(await brokenBy(withId(mutants, id).create(), everyBurst)).toContain(requirement)
  })
})
