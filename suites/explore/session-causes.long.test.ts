import { describe, expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { isProof, onlyInProof } from '../self/proof-form.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { type Caller, expectRefused } from './keyring.ts'
import { grant, list, token } from './step.ts'
import { inWorld, toldOf, sentUnique as unique } from './test-findings.ts'

const { requirements } = await openCorpus()

/** Grants sessions to a key, named after a letter. @returns the first pair */
async function grantSessions({ x }: Caller, who: string, letter: string, count: number): Promise<string> {
  const made = Array.from({ length: count }, (_, at) => `pair${letter.charCodeAt(0)}${at}`)
  for (const [at, as] of made.entries()) await x.call(grant(who, ['solution', `session:${letter}${at}$unique`], { as }))
  return made[0] ?? ''
}

/** The first finding about a server; each of its three tries showed it. */
async function firstTold(server: Omit<ServerOptions, 'clock'>, run: (caller: Caller) => Promise<unknown>) {
  const [first] = (await toldOf(requirements, server, run)).told
  expect(first?.reproduced).toEqual({ failed: 3, tries: 3 })
  return { steps: first?.steps ?? [], fixture: first?.fixture ?? '' }
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

  test.skipIf(!isProof)(onlyInProof('no other key, where its sessions play no part'), async () => {
    const { steps } = await firstTold({ rules: { removedSessionWorks: () => true } }, oneTooMany)
    expect(steps.join('\n')).not.toContain('by-basic')
  })

  test.skipIf(!isProof)(onlyInProof('its name, if a later session has it too'), async () => {
    const live = new Set<string | undefined>()
    const rules: NonNullable<ServerOptions['rules']> = {
      sessionName: (name) => {
        live.add(name)
        return name
      },
      sessionsRemoved: (sessions, surplus) => {
        const leaving = sessions.slice(0, surplus)
        for (const { name } of leaving) live.delete(name)
        return leaving
      },
      removedSessionWorks: (_use, { session }) => live.has(session?.name),
    }
    const { steps, fixture } = await firstTold({ rules }, async (caller) => {
      const removed = await oneTooMany(caller)
      await caller.x.call(grant('root', ['solution', 'session:c0$unique'], { as: 'pair0' }))
      await expectRefused(caller.x, list(token(removed)))
    })
    expect(steps.at(-3)).toContain(`n2${unique}, n3${unique}, …, n16${unique}`)
    expect(steps.at(-2)).toMatch(new RegExp(`^A grant to root for the scope "session:c0${unique}" as other0`))
    expect(fixture).toContain('{ call: solution/listSolutions, auth: { token: $pair.accessToken }, expect: refused }')
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
