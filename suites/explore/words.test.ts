import { expect, test } from 'vitest'
import { reproducedSentence } from '../report/tell.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'

import type { Found } from './findings.ts'
import { type Caller, expectRefused, explainKeys } from './keyring.ts'
import {
  anyCall,
  atOnce,
  basic,
  type CallStep,
  type Candidate,
  changed,
  create,
  grant,
  hmac,
  list,
  none,
  pause,
  refresh,
  type Shown,
  type Step,
  token,
} from './step.ts'
import { firstOf, foundIn, toldOf } from './test-findings.ts'
import { contradiction, describeStep, headline, stepLines } from './words.ts'

const { requirements } = await openCorpus()

const shown = (steps: readonly Step[]): Shown => ({ steps, outcomes: steps.map(() => 'accepted') })

type Rules = NonNullable<ServerOptions['rules']>

const firstFinding = async (rules: Rules, run: (caller: Caller) => Promise<void>): Promise<Found> =>
  firstOf((await toldOf(requirements, { rules }, run)).told)

test('a finding says what its token went through, and that nothing can be left out', async () => {
  const rules: Rules = { revokedTokenWorks: (kind, { generation }) => kind === 'access' && generation > 0 }
  const finding = await firstFinding(rules, async ({ x }) => {
    await x.call(grant('root', ['solution', 'context'], { as: 'pair0' }))
    await x.call(refresh('pair0', { as: 'pair1' }))
    await x.call(refresh('pair1', { as: 'pair2' }))
    await expectRefused(x, list(token('pair1')))
  })
  expect(finding.message).toBe(
    'A call of solution/listSolutions with an access token for the scope "solution" (of a pair that was refreshed once, revoked by a refresh) was accepted',
  )
  expect(finding.least).toBe(true)
  expect(reproducedSentence(finding)).toBe(
    'Repeated 3 times, seen 3 times; not seen without any single one of these steps and words of scope',
  )
})

test('a finding shows the words of this run as they were sent', async () => {
  const told = async (areLong: boolean): Promise<string> => {
    const parseBody: Rules['parseBody'] = (text) => (text.includes('session:') ? undefined : JSON.parse(text))
    const finding = await firstFinding({ parseBody }, async ({ x }) => {
      x.setTerms({ longSessionNames: areLong })
      await x.call(grant('root', ['solution', 'session:zulu-$unique'], { as: 'pair0' }))
    })
    return [finding.message, ...finding.steps].join('\n')
  }
  expect(await told(true)).toMatch(/^(.* "solution session:zulu-[a-z0-9]{4}".*\n?){2}$/)
  expect(await told(false)).toMatch(/^(.* "solution session:[a-z0-9]{8}".*\n?){2}$/)
})

test('a finding shows the params as they were sent but for secrets; its scenario keeps their names', async () => {
  const server = await serverNamed('any-secret-among-params-taken')
  const wrong = { apiKeyId: '$root.id', apiKeySecret: '$by-basic.secret' }
  const params = { label: '$by-basic.name', to: ['$root.id'], ...wrong }
  let ids: unknown[] = []
  let secrets: unknown[] = []
  const { told } = await toldOf(requirements, server, async ({ x }) => {
    const call = anyCall('solution/listSolutions', params, none)
    const keys = ['root', 'by-basic'].map((name) => x.names.get(name))
    ids = keys.map((key) => key?.id)
    secrets = keys.map((key) => key?.secret)
    await expectRefused(x, call)
    await x.burst(atOnce([call, list(basic('root'))], 'new'))
  })
  expect(told.length).toBeGreaterThan(0)
  for (const { message, steps, history, fixture } of told) {
    const text = JSON.stringify([message, steps, history])
    expect(message).toContain(`{"label":"other","to":["${ids[0]}"],"apiKeyId":"${ids[0]}","apiKeySecret":"…"}`)
    expect(text).not.toMatch(/\$/)
    for (const secret of secrets) expect(text).not.toContain(secret)
    expect(fixture).toMatch(/\$[\w.-]+\.id/)
  }
})

test('calls at once are told with the key that the simpler ones have', () => {
  const wrong = (who: string): CallStep =>
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' })
  const burst = (who: string): Step => atOnce([list(basic(who)), wrong(who)], 'new')
  const what = (who: string): string =>
    `A call of solution/listSolutions with Basic credentials of ${who} with its basic-secret changed (inside-changed) was accepted: no order allows it`
  const candidate = { message: what('by-basic') } as Candidate
  expect(headline(candidate, shown([burst('root')]), burst('by-basic'))).toBe(what('root'))
  expect(headline(candidate, shown([atOnce([wrong('root')], 'new')]), burst('by-basic'))).toBe(what('by-basic'))
})

test.each([
  ['sessions/removed-refresh', 'accepted', 'A refresh with the refresh token of a removed session was accepted'],
  ['refresh/own-expiry', 'accepted', 'A refresh with an expired refresh token was accepted'],
  ['refresh/own-expiry', 'refused', 'A refresh was refused'],
  ['refresh/after-access-expiry', 'refused', 'A refresh after the access token had expired was refused'],
])('what a refresh is follows from the requirement: %s, %s', (requirement, outcome, text) => {
  const candidate = { requirement, message: `A refresh was ${outcome}` } as Candidate
  expect(headline(candidate, shown([grant('root', ['solution'], { as: 'pair0' }), refresh('pair0')]))).toBe(text)
})

test('a second refresh with one token is called so', () => {
  const granted = grant('root', ['solution'], { as: 'pair0' })
  const steps = [granted, refresh('pair0', { as: 'pair1' }), refresh('pair0')]
  const candidate = { message: 'A refresh was accepted' } as Candidate
  expect(headline(candidate, shown(steps))).toBe('A refresh with a refresh token that was used before was accepted')
  expect(headline(candidate, shown(steps.slice(0, 2)))).toBe('A refresh was accepted')
})

test('the headline has the last call as the steps have it', () => {
  const refusedTo = (who: string) => `A call of solution/listSolutions with Basic credentials of ${who} was refused`
  const candidate = { message: refusedTo('by-basic') } as Candidate
  expect(headline(candidate, shown([list(basic('root'))]))).toBe(refusedTo('root'))
})

test('a refusal is told with what the server said', async () => {
  const rules: Rules = { secretMatches: () => false }
  const finding = await firstFinding(rules, async ({ x }) => void (await x.call(list(basic('by-basic')))))
  expect(finding.steps.at(-1)).toMatch(/: refused \(HTTP 200, error 24879: [^()]+\)/)
})

/** The lines of steps that were all accepted, by an explorer that knows nothing. */
function linesOf(steps: readonly Step[]): string[] {
  const told = { outcome: 'accepted', explain: () => [], addresses: [] }
  return stepLines({ ...shown(steps), sharesConnection: false }, told)
}

test('a pause says which tokens expire in it', () => {
  const granted = grant('root', ['solution', 'expiresIn:5000'], { as: 'pair0' })
  const lines = linesOf([granted, pause(3000), pause(3000), list(token('pair0'))])
  expect(lines.slice(1, 3)).toEqual(['wait 3000 ms', 'wait 3000 ms, until the access token of pair0 has expired'])
})

test('equal calls at once are counted, and results that are used have names', () => {
  const calls = ['burst1a', 'burst1b'].map((as) => refresh('pair0', { as }))
  const burst = atOnce(calls, 'new')
  expect(linesOf([burst])).toEqual(['2 calls at once: A refresh of pair0, 2 times'])
  expect(linesOf([burst, list(token('burst1b'))])[0]).toBe(
    '2 calls at once: A refresh of pair0; A refresh of pair0 as burst1b',
  )
})

test('a key that was created in another way than planned is told so', async () => {
  const { x } = await foundIn({}, async ({ x }) => {
    await x.call(create(basic('root'), { name: 'token', scope: ['solution'] }, { as: 'by-token' }))
  })
  expect(explainKeys(x, ['by-basic', 'by-token'])).toEqual([
    'by-basic is a key that Basic credentials created',
    'by-token is a key with the scope "solution", which Basic credentials of root created',
  ])
})

const refused = { kind: 'refused' } as const
const mustBeAccepted = (requirement: string) => {
  const fact = { requirement, is: 'yes' } as const
  return { is: 'accepted', requirement, level: 'must', fact } as const
}

test('a refused creation names its premise, because a used instance refuses it too', () => {
  const step = create(basic('root'), { name: 'one', scope: ['solution'] })
  const text = 'A call of manager/createApiKey with Basic credentials of root was refused'
  const premise = 'although the instance is fresh, as --disposable says'
  expect(contradiction(step, mustBeAccepted('limits/ten-can-be-made'), refused)).toBe(`${text}, ${premise}`)
  expect(contradiction(step, mustBeAccepted('keys/create-authorized'), refused)).toBe(text)
})

test('a nonce that makes a special signature is named', () => {
  expect(describeStep(list(hmac('root'), { nonce: 'leading-zero' }))).toBe(
    'A call of solution/listSolutions with an HMAC of root and a signature whose most significant byte is zero',
  )
})
