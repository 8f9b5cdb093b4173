import { describe, expect, test } from 'vitest'
import { isShownAgain } from '../report/report.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { isProof, onlyInProof } from '../self/proof-form.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { type Caller, expectRefused } from './keyring.ts'
import { reproduce } from './shrink.ts'
import {
  atOnce,
  basic,
  type CallStep,
  changed,
  create,
  grant,
  isCall,
  isRefresh,
  list,
  refresh,
  token,
} from './step.ts'
import { brokenBy, firstOf, foundIn, inWorld, refusing, toldOf, sentUnique as unique } from './test-findings.ts'

type Rules = NonNullable<ServerOptions['rules']>

/** Refreshes a pair and calls with its old access token, which must be refused. */
async function useAfterRefresh({ x }: Caller, pair: string, scope = ['solution'], who = 'root'): Promise<void> {
  await x.call(grant(who, scope, { as: pair }))
  await x.call(refresh(pair, { as: `${pair}-next` }))
  await expectRefused(x, list(token(pair)))
}

/** The only finding of these calls, tried again. */
async function triedAgain(rules: Rules, run: (caller: Caller) => Promise<void>) {
  const { x, found } = await foundIn({ rules }, run)
  expect(found).toHaveLength(1)
  const one = firstOf(found)
  return { ...(await reproduce(x, one)), requirement: one.requirement }
}

const newKey = create(basic('root'), { name: 'new', scope: ['solution'] }, { as: 'new' })
const thrice = { failed: 3, tries: 3 }
const { requirements } = await openCorpus()

describe('a finding is tried again', () => {
  test('after other pairs were refreshed, if a server forgets what it revoked', async () => {
    const revoked: unknown[] = []
    const rules: Rules = {
      endedBesideRefresh: (_all, old) => {
        revoked.push(old)
        return []
      },
      revokedTokenWorks: (_kind, pair) => !revoked.slice(-5).includes(pair),
    }
    const { steps, failed } = await triedAgain(rules, async (caller) => {
      const { x } = caller
      await x.call(grant('root', ['solution'], { as: 'pair0' }))
      await x.call(refresh('pair0', { as: 'pair0-next' }))
      for (let at = 0; at < 7; at++) await useAfterRefresh(caller, `pair${at + 1}`)
      await expectRefused(x, list(token('pair0')))
    })
    expect(failed).toBe(3)
    expect(steps.filter((step) => isCall(step) && isRefresh(step)).length).toBe(6)
  })

  test('when a token has surely expired, though the replay is faster than the calls that it repeats', async () => {
    const rules: Rules = {
      accessExpired: ({ generation, accessExpiryMs }, nowMs) => generation === 0 && nowMs >= accessExpiryMs,
    }
    const again = await triedAgain(rules, async ({ x }) => {
      const { clock } = x
      Object.assign(clock, { controlled: false })
      await x.call(grant('root', ['solution', 'expiresIn:15000'], { as: 'long' }))
      await x.call(grant('root', ['solution', 'expiresIn:3000'], { as: 'short' }))
      await x.call(refresh('short', { as: 'next' }))
      await x.wait(5000)
      await clock.sleep(600)
      await expectRefused(x, list(token('next')))
    })
    expect(again).toMatchObject({ requirement: 'tokens/expire', ...thrice })
  })

  test('after all of the time that passed, if a server forgets after twelve seconds what it revoked', async () => {
    const revokedTokenWorks: Rules['revokedTokenWorks'] = (_kind, { accessExpiryMs, expiresInMs = 900_000 }) =>
      reached.now() >= accessExpiryMs - expiresInMs + 12_000
    const reached = { now: (): number => 0 }
    const again = await triedAgain({ revokedTokenWorks }, async ({ x }) => {
      reached.now = x.clock.now
      await x.call(grant('root', ['solution'], { as: 'pair0' }))
      await x.call(refresh('pair0', { as: 'pair0-next' }))
      await x.clock.sleep(14_000)
      await expectRefused(x, list(token('pair0')))
    })
    expect(again).toMatchObject({ requirement: 'refresh/revokes-access', failed: 1, tries: 1 })
  })

  test.each([
    ['sessions are reported only if they are seen again', 'sessions/removed-refresh', 1],
    ['others are reported as seen once', 'refresh/revokes-access', 0],
  ])('if the time is over, findings about %s', async (_what, requirement, tries) => {
    const { x, found } = await foundIn({ rules: { revokedTokenWorks: () => true } }, (caller) =>
      useAfterRefresh(caller, 'pair0'),
    )
    const ended = Object.assign(Object.create(x), { hasEnded: () => true, call: async () => null })
    expect(await reproduce(ended, { ...firstOf(found), requirement })).toMatchObject({ failed: 0, tries })
  })

  test('is not tried again if a creation came just before, because that would take a place', async () => {
    let created = 0
    const rules: Rules = {
      keySecret: (fresh) => {
        created += 1
        return fresh
      },
      secretMatches: (received, expected) => received === expected || created-- > 1,
    }
    const again = await triedAgain(rules, async ({ x }) => {
      await x.call(newKey)
      await expectRefused(x, wrongSecret('root'))
    })
    expect(again).toMatchObject({ failed: 0, tries: 0 })
  })

  test('without a wait for the end of a lock, where a plain call with the same key shows that there is none', async () => {
    const wrong = grant('root', ['solution', 'session:one'])
    const waitedFor = async (isRefused: (scope: readonly string[]) => boolean): Promise<number> => {
      const server = refusing(({ body }) => isRefused(JSON.parse(String(body) || '{}').params?.scope ?? []))
      const { x, found } = await foundIn(server, ({ x }) => x.call(wrong))
      const before = x.clock.now()
      expect(await reproduce(x, firstOf(found.filter(({ kind }) => kind === 'refused')))).toMatchObject(thrice)
      return x.clock.now() - before
    }
    expect(await waitedFor((scope) => scope.includes('session:one'))).toBeLessThan(5000)
    let isShut = false
    const shuts = (scope: readonly string[]) => {
      isShut ||= scope.includes('session:one')
      return isShut && scope.includes('solution')
    }
    expect(await waitedFor(shuts)).toBeGreaterThan(4000)
  })

  test('if a new key never works, though nothing is expected of it any more', async () => {
    const made = new Set<string>()
    const rules: Rules = {
      keySecret: (fresh) => {
        made.add(fresh)
        return fresh
      },
      secretMatches: (received, expected) => received === expected && !made.has(expected),
    }
    const { x, found } = await foundIn({ rules }, async ({ x }) => {
      await x.call(newKey)
      await x.call(list(basic('new')))
      for (let at = 0; at < 6; at++) await expectRefused(x, wrongSecret('new'))
    })
    const ofNew = found.filter(({ requirement }) => requirement === 'keys/created-key-works')
    expect(ofNew.length).toBe(1)
    expect(await reproduce(x, firstOf(ofNew))).toMatchObject(thrice)
  })

  test('without the words of scope on which it does not rest', async () => {
    const rules: Rules = { revokedTokenWorks: (kind, { session }) => kind === 'access' && session !== undefined }
    const scope = ['context', 'session:a$unique', 'solution', 'expiresIn:15000']
    const { steps, failed } = await triedAgain(rules, (caller) => useAfterRefresh(caller, 'pair', scope))
    expect(failed).toBe(3)
    expect(steps[0]).toMatchObject({ params: { scope: ['session:a$unique', 'solution'] } })
  })

  test('with later answers of its kind, until one is seen again', async () => {
    let glitches = 1
    const rules: Rules = { revokedTokenWorks: (_kind, { scope }) => scope.includes('context') || glitches-- > 0 }
    const scopes = [['solution'], ['solution', 'context'], ['solution', 'context']]
    const { x, found } = await foundIn({ rules }, async (caller) => {
      for (const [at, scope] of scopes.entries()) await useAfterRefresh(caller, `pair${at}`, scope)
    })
    expect(found.length).toBe(3)
    const findings = collectFindings(x, requirements)
    const seenAgain: boolean[][] = []
    for (const one of found) {
      await findings.take(one)
      seenAgain.push(findings.found.map(isShownAgain))
    }
    expect(seenAgain).toEqual([[false], [true], [true]])
  })
})

const twoUsers = inWorld('secrets of other keys')

test.each<['basic' | 'grant', string]>([
  ['basic', 'basic/credentials'],
  ['grant', 'grants/credentials'],
])(
  'the secret of a key is found to be taken for another key by a server that remembers the last one (%s)',
  async (means, broken) => {
    let last = ''
    const secretMatches: Rules['secretMatches'] = (received, expected, used) => {
      if (received === expected) last = received
      return received === expected || (used === means && received === last)
    }
    expect(await brokenBy({ rules: { secretMatches } }, twoUsers)).toContain(broken)
  },
)

const wrongSecret = (who: string): CallStep =>
  changed(list(basic(who)), { field: 'basic-secret', value: '$by-basic.secret' })

test('a finding says what kind of key it is about', async () => {
  const rules: Rules = { revokedTokenWorks: (kind, { key }) => kind === 'access' && !key.initial }
  const { told } = await toldOf(requirements, { rules }, (caller) =>
    useAfterRefresh(caller, 'pair', undefined, 'by-basic'),
  )
  expect(told[0]?.steps).toEqual([
    'A grant to by-basic for the scope "solution" as pair: accepted (by-basic is a key that Basic credentials created)',
    'A refresh of pair as pair-next: accepted',
    'A call of solution/listSolutions with the access token of pair: accepted',
  ])
})

test('a finding about addresses says from which one the calls came', async () => {
  const rules: Rules = { addressTaken: () => true }
  const { told } = await toldOf(requirements, { rules }, async ({ x }) => {
    await x.call(grant('root', ['solution', 'ipAddr:203.0.113.9'], { as: 'pair0' }))
    await expectRefused(x, list(token('pair0')))
  })
  const call = 'A call of solution/listSolutions with the access token of pair0'
  expect(told[0]?.steps.at(-1)).toBe(`${call} (from 127.0.0.1): accepted`)
})

test('a call that is made several times is one step, and the second address stands for others', async () => {
  const uses = new Map<unknown, number>()
  /** Looks at the address of a token only the first five times. */
  const around: NonNullable<ServerOptions['around']> = (handle) => async (request) => {
    const { authorization } = request.headers
    const used = uses.get(authorization) ?? 0
    const answer = await handle(used < 5 ? request : { ...request, remoteAddress: '127.0.0.1' })
    if (String(answer.body).includes('"result"')) uses.set(authorization, used + 1)
    return answer
  }
  const { told } = await toldOf(requirements, { around }, async ({ x }) => {
    await x.call(grant('root', ['solution', 'ipAddr:127.0.0.1'], { as: 'pair0' }))
    for (let turn = 0; turn < 5; turn++) await x.call(list(token('pair0')))
    await expectRefused(x, list(token('pair0'), { from: '127.1.0.1' }))
  })
  const { steps, fixture } = firstOf(told)
  expect(steps[1]).toMatch(/^A call of solution\/listSolutions with the access token of pair0 .*, 5 times: accepted$/)
  expect(steps[2]).toContain('from the second address')
  const right = 'call: solution/listSolutions, auth: { token: $pair.accessToken }, expect: accepted'
  expect(fixture).toContain(`{ repeat: 5, ${right} }`)
})

test('a wrong result of one of several calls at once is shown alone, if it comes alone too', async () => {
  const rules: Rules = { grantedScope: (requested) => requested.filter((word) => word !== 'solution').concat('thread') }
  const { x, found } = await foundIn({ rules }, async ({ x }) => {
    const calls = ['a', 'b'].map((as) => grant('by-basic', ['solution', 'context'], { as: `burst1${as}` }))
    await x.burst(atOnce(calls, 'new'))
  })
  const { steps, failed } = await reproduce(x, firstOf(found.filter(({ kind }) => kind === 'shape')))
  expect([steps.map(isCall), failed]).toEqual([[true], 3])
})

test('calls at once that are answered wrongly one after another, too, are shown so', async () => {
  const rules: Rules = { revokedTokenWorks: (kind) => kind === 'refresh' }
  const { found, told } = await toldOf(requirements, { rules }, async ({ x }) => {
    await x.call(grant('root', ['solution'], { as: 'pair0' }))
    const calls = [list(token('pair0')), ...['a', 'b'].map((as) => refresh('pair0', { as: `burst1${as}` }))]
    await x.burst(atOnce(calls, 'new'))
  })
  expect(found.map(({ kind }) => kind)).toEqual(['history'])
  const { id, steps, fixture, history } = firstOf(told)
  expect(id).toBe('found/refresh/revokes-refresh/let-in')
  expect(steps.map((text) => text.replace(/ as \w+/, ''))).toEqual([
    'A grant to root for the scope "solution": accepted',
    'A refresh of pair0: accepted',
    'A refresh of pair0: accepted',
  ])
  expect(history).toEqual([])
  expect(fixture).toMatch(/- \{ refresh: \$pair, expect: refused \}\n$/)
})

test('of calls at once, a right one that was refused once is no finding: it may have met a lock', async () => {
  let locks = 0
  const server = refusing(() => locks-- > 0)
  const { found, told } = await toldOf(requirements, server, async ({ x }) => {
    await x.call(list(basic('root')))
    locks = 1
    await x.burst(atOnce([list(basic('root')), list(basic('root'))], 'new'))
  })
  expect(found.map(({ kind, outcome }) => [kind, outcome])).toEqual([['history', 'refused']])
  expect(told).toEqual([])
})

/** Grants sessions to a key, named after a letter. @returns the first pair */
async function grantSessions({ x }: Caller, who: string, letter: string, count: number): Promise<string> {
  const made = Array.from({ length: count }, (_, at) => `pair${letter.charCodeAt(0)}${at}`)
  for (const [at, as] of made.entries()) await x.call(grant(who, ['solution', `session:${letter}${at}$unique`], { as }))
  return made[0] ?? ''
}

/** The first finding about a server; each of its three tries showed it. */
async function firstTold(server: Omit<ServerOptions, 'clock'>, run: (caller: Caller) => Promise<unknown>) {
  const first = firstOf((await toldOf(requirements, server, run)).told)
  expect(first.reproduced).toEqual(thrice)
  return first
}

describe('a session that stays is shown with what keeps it', () => {
  /** Sixteen newer sessions remove one, whose pair is returned. */
  const oneTooMany = async (caller: Caller): Promise<string> => {
    await grantSessions(caller, 'by-basic', 'a', 16)
    await grantSessions(caller, 'root', 'b', 17)
    await caller.x.wait(1300)
    const removed = await grantSessions(caller, 'root', 'c', 1)
    await caller.x.wait(1300)
    await grantSessions(caller, 'root', 'd', 16)
    await expectRefused(caller.x, list(token(removed)))
    await caller.x.wait(1300)
    return removed
  }

  test.skipIf(!isProof)(onlyInProof('an older session of another key, which leaves in its place'), async () => {
    const broken = await serverNamed('session-beyond-limit-removes-oldest-of-any-user')
    const { steps, fixture } = await firstTold(broken, oneTooMany)
    expect(steps[0]).toMatch(/^A grant to by-basic for the scope "[^"]*session:/)
    expect(steps.length).toBe(6)
    expect(fixture).toMatch(/- \{ grant: \$key, scope: .*session:/)
  })
})

test.skipIf(!isProof)(
  onlyInProof('sessions that are granted at once are shown together, if more of them live than may'),
  async () => {
    const broken = await serverNamed('sessions-counted-some-microtasks-before-creation')
    const race = inWorld('session races', { who: 'by-basic', on: ['new'] })
    const { told: found } = await toldOf(requirements, broken, race)
    expect(found.map(({ id, reproduced }) => [id, reproduced])).toEqual([
      ['found/sessions/oldest-removed/let-in', { failed: 3, tries: 3 }],
    ])
    expect(found[0]?.message).toBe('17 of 24 sessions that were granted at once live')
    expect(found[0]?.steps.map((text) => text.replace(/(race|w)\d+[x-]/g, '$1'))).toEqual([
      `24 calls at once: A grant to root for the scope "solution session:w1-${unique}" as race0, and the same for 23 more sessions: w2-${unique}, w3-${unique}, …, w24-${unique}`,
      'A call of solution/listSolutions with the access token of race0, and the same with those of race1, race2, …, race15: accepted',
      'A call of solution/listSolutions with the access token of race16: accepted',
    ])
    expect(found[0]?.fixture).toMatch(
      /- \{ grant: root, scope: \[ solution, session:s\$n\$unique \], parallel: 24, connections: \w+, tally: \{ accepted: at-least 1 \}, keep: \{ sessions: result \} \}/,
    )
    expect(found[0]?.fixture).toMatch(
      /\nsteps:\n {2}- \{ for: \$sessions, call: solution\/listSolutions, auth: .* tally: \{ accepted: at-most 16 \} \}\n$/,
    )
  },
)
