import { expect, test } from 'vitest'
import { fixtureText } from './fixture-text.ts'
import {
  anyCall,
  atOnce,
  basic,
  type CallStep,
  changed,
  create,
  ecc,
  grant,
  hmac,
  inDocumentOrder,
  list,
  none,
  refresh,
  type Step,
  token,
} from './step.ts'

type FixtureInput = Parameters<typeof fixtureText>[0]

const about = { part: '3', sentence: 'A refresh revokes the old access token', message: 'A call was accepted' }
function textOf(
  steps: readonly Step[],
  requirement = 'refresh/revokes-access',
  more: Partial<FixtureInput> = {},
): string {
  const outcomes = steps.map(() => 'accepted' as const)
  return fixtureText({ requirement, ...about, steps, outcomes, expect: 'refused', ...more }).fixture ?? ''
}

const first = inDocumentOrder(grant('by-ecc', ['solution'], { as: 'pair7' }))
const last = list(token('pair7'))
const steps: readonly Step[] = [first, refresh('pair7', { as: 'pair8' }), last]

test('where the order of the params matters, they are written as they were sent', () => {
  const key = { apiKeySecret: '$root.secret', apiKeyId: '$root.id' }
  const params = { scope: ['solution'], grantType: 'api_key_credentials', ...key }
  const step: Step = { ...grant('root', ['solution'], { as: 'pair7' }), params }
  expect(textOf([step, ...steps.slice(2)])).toContain('params: { scope: [ solution ], grantType: api_key_credentials')
})

const threeRefreshes = ['x1', 'x2', 'x3'].map((as) => refresh('pair7', { as }))
const race = (on: 'new' | 'warm'): Step => atOnce(threeRefreshes, on)

test('equal calls at once are written, as a preparation and as what is judged', () => {
  expect(textOf([first, race('warm'), last])).toContain('  - { refresh: $pair, parallel: 3, connections: warm }')
  const judged = '  - { refresh: $pair, parallel: 3, connections: new, tally: { accepted: at-most 1 } }'
  expect(textOf([first, race('new')])).toContain(judged)
})

test('different calls at once are written beside each other', () => {
  const mixed = atOnce([refresh('pair7'), list(token('pair7'))], 'new')
  const beside = 'beside: [ { call: solution/listSolutions, auth: { token: $pair.accessToken } } ], connections: new'
  expect(textOf([first, mixed, list(token('pair7'))])).toContain(`  - { refresh: $pair, ${beside} }`)
  const kept = atOnce([list(token('pair7')), refresh('pair7', { as: 'x1' })], 'warm')
  const besideRefresh = 'beside: [ { refresh: $pair, keep: { pair-2: result } } ], connections: warm }'
  expect(textOf([first, kept, list(token('x1'))])).toContain(besideRefresh)
})

test('of different calls at once the wrong one is judged: by itself, or as a refresh among equal ones', () => {
  const judged = (calls: CallStep[], wrong: FixtureInput['wrong']): string =>
    textOf([first, atOnce(calls, 'new')], 'a/b', { wrong })
      .split('\n')
      .at(-2) ?? ''
  const bad = changed(list(token('pair7')), { field: 'token', operation: 'inside-changed' })
  expect(judged([refresh('pair7'), bad], { at: 1, isByItself: true })).toBe(
    '  - { call: solution/listSolutions, auth: { token: $pair.accessToken }, alter: { token: inside-changed }, beside: [ { refresh: $pair } ], connections: new, expect: refused }',
  )
  const two = [list(token('pair7')), ...['x1', 'x2'].map((as) => refresh('pair7', { as }))]
  expect(judged(two, { at: 2, isByItself: false })).toBe(
    '  - { refresh: $pair, parallel: 2, beside: [ { call: solution/listSolutions, auth: { token: $pair.accessToken } } ], connections: new, tally: { accepted: at-most 1 } }',
  )
  expect(judged([list(token('pair7')), refresh('pair7')], { at: 0, isByItself: false })).toBe('')
})

test('of equal calls at once the accepted results are used', () => {
  const text = textOf([first, race('new'), list(token('x2'))])
  expect(text).toContain('  - { refresh: $pair, parallel: 3, connections: new, keep: { pair-2: result } }')
  expect(text).toContain('auth: { token: $pair-2.0.accessToken }, expect: refused')
})

test('a finding about sessions is written only where every reading has the same oldest session', () => {
  const session = (name: string, who = 'root'): Step =>
    grant(who, ['solution', `session:${name}`], { as: `pair${name}` })
  const last = list(token('paira'))
  const written = (steps: readonly Step[]): boolean => textOf([...steps, last], 'sessions/oldest-removed') !== ''
  expect(written([session('a'), session('b')])).toBe(true)
  // Used later, it is not the longest unused; what a name used again does is open, and whether other keys are other users.
  expect(written([session('a'), session('b'), last])).toBe(false)
  expect(written([session('a'), session('b'), refresh('paira', { as: 'next' })])).toBe(false)
  expect(written([session('a'), session('a')])).toBe(false)
  expect(written([session('a'), session('b', 'by-basic')])).toBe(false)
  expect(written([session('a'), grant('root', ['solution'], { as: 'plain' })])).toBe(false)
})

const right: CallStep = list(basic('root'))
const written = (steps: readonly Step[], more: Partial<FixtureInput> = {}): string[] =>
  textOf(steps, 'basic/credentials', more)
    .split('\n')
    .filter((line) => line.startsWith('  - ') || line.startsWith('needs'))
    .map((line) => line.replace(/^ {2}- \{ (step: "[^"]*", )?/, '').replace(/ \}$/, ''))

const insideSecret = { field: 'basic-secret', operation: 'inside-changed' }
const wrongSecret = changed(right, insideSecret, { field: 'basic-word', operation: 'upper-case' })

test('a finding that a server counts up to is repeated as often', () => {
  const [control, judged] = written([wrongSecret], { before: { refused: 2, accepted: 5 } })
  expect(control).toMatch(/^repeat: 5, /)
  expect(judged).toMatch(/^repeat: 3, /)
  expect(written([wrongSecret], { before: { refused: 0, accepted: 5 } }).join()).not.toContain('repeat')
  expect(written([wrongSecret], { isSeenSometimes: true }).at(-1)).toMatch(/^repeat: 30, /)
  expect(textOf([wrongSecret], 'basic/credentials', { before: { refused: 2, accepted: 5 } })).toContain(
    '# the last call is repeated: it was accepted after 2 refusals\n# the control is repeated: as many right calls came before\n',
  )
})

const twin = { name: 'twin-$unique', scope: ['solution'], publicKey: '$ecc-x-own.publicKey' }
const creation = create({ token: '$pair1.accessToken' }, twin, { as: 'ecc-x', id: 12 })
const byItself = list(ecc('ecc-x'))
const creationOf = (key: string): Step[] =>
  key === 'ecc-x' ? [inDocumentOrder(grant('root', ['apikey'], { as: 'pair1' })), creation] : []

test('a key that no test key stands for is created, and signs with the private key of one', () => {
  const change = { field: 'signature', operation: 'lower-case' }
  expect(written([changed(byItself, change)], { creationOf })).toEqual([
    'needs: [ sessions, keys ]',
    'grant: root, scope: [ apikey ], expect: accepted, keep: { pair: result }',
    'call: manager/createApiKey, auth: { token: $pair.accessToken }, params: { publicKey: $keypairs.a.publicKey, scope: [ solution ], name: twin-$unique }, expect: accepted, keep: { key: result }',
    'call: solution/listSolutions, auth: { ecc: $key }, expect: accepted',
    'call: solution/listSolutions, auth: { ecc: $key }, alter: { signature: lower-case }, expect: refused',
  ])
})

test('a key that ends is created first, and ended by the word for it', () => {
  const ending = anyCall('manager/deleteApiKey', { id: '$by-ecc.id' }, basic('root'))
  const made = create(basic('root'), { name: 'twin-$unique', scope: ['solution'] }, { as: 'by-ecc' })
  const steps = [ending, list(basic('by-ecc'))]
  const endings = new Map([['manager/deleteApiKey', 'cleanup']])
  const more = { requirement: 'keys/can-be-deleted', endings }
  expect(written(steps, { ...more, creationOf: (key) => (key === 'by-ecc' ? [made] : []) }).slice(-3)).toEqual([
    'call: solution/listSolutions, auth: { basic: $key }, expect: accepted',
    'call: cleanup, auth: { basic: root }, params: { id: $key.id }, expect: accepted',
    'call: solution/listSolutions, auth: { basic: $key }, expect: refused',
  ])
  expect(written(steps, more)).toEqual([])
})

test('a key with a public key that is used by its secret is first used rightly', () => {
  const [first, second] = written([list(hmac('ecc-a'))])
  expect(first).toBe('call: solution/listSolutions, auth: { ecc: bob }, expect: accepted')
  expect(second).toBe('call: solution/listSolutions, auth: { hmac: bob }, expect: refused')
})

test('what was refused on the way must be refused again, after a right call', () => {
  const steps = [wrongSecret, list(none)]
  const lines = written(steps, { outcomes: ['refused', 'accepted'] })
  expect(lines.at(-2)).toContain('expect: refused, if-accepted: the finding rests on the refusal of this call')
  expect(lines.slice(0, -2).every((line) => line.endsWith('expect: accepted'))).toBe(true)
})

test('a server may refuse a form of the body to everybody, so root makes such a call first', () => {
  const judged: CallStep = list(hmac('root'), { body: 'with-numbers' })
  const [control] = written([judged], { expect: 'accepted' })
  expect(control).toBe('call: solution/listSolutions, auth: { basic: root }, body: with-numbers, expect: accepted')
})

test('solutions and addresses of this target are those of another one there', () => {
  const addresses = { '127.0.0.1': '$client.address', '127.0.0.12': '$second.address' }
  const ofTarget = new Map(Object.entries({ '0a1b': '$solutions.0', ...addresses }))
  const scope = ['solution:0a1b', 'ipAddr:127.0.0.12', 'ipAddr:127.0.0.1']
  const steps = [inDocumentOrder(grant('root', scope, { as: 'pair1' })), list(token('pair1'))]
  const lines = written(steps, { ofTarget })
  expect(lines[0]).toBe('needs: [ solutions, sessions, second-address ]')
  expect(lines.join()).toContain('[ solution:$solutions.0, ipAddr:$second.address, ipAddr:$client.address ]')
})

test('an expiry that the target reported is awaited, because on another server it may be in the future', () => {
  const steps = [inDocumentOrder(grant('root', ['solution'], { as: 'pair1' })), list(token('pair1'))]
  expect(written(steps, { requirement: 'tokens/expire' }).at(-2)).toBe('wait: { past: $pair.accessTokenExpiry }')
})

test('a wrong result is demanded to be right, or the call to be refused where it may be', () => {
  const step = inDocumentOrder(grant('root', ['thread']))
  const result = { 'result.scope': { excludes: 'thread' } }
  const more = { expect: 'accepted', result, requirement: 'scopes/within-key' } as const
  const demand = '{ accepted: auth-result, where: { result.scope: { excludes: thread } } }'
  expect(written([step], more).at(-1)).toContain(`expect: ${demand}`)
  expect(written([step], { ...more, mayBeRefused: true }).at(-1)).toContain(`expect: { refused-or: ${demand} }`)
})

test('a name of a session that says nothing becomes short', () => {
  const session = (word: string, at: number): Step => inDocumentOrder(grant('root', [word], { as: `pair${at}` }))
  const steps = ['session:pair7-$unique', 'session:mike-s1-$unique', 'session:pair9-$unique'].map(session)
  const scopes = written([...steps, list(token('pair0'))], { expect: 'accepted' }).join()
  for (const word of ['session:sa$unique', 'session:mb$unique', 'session:sc$unique'])
    expect(scopes).toContain(`scope: [ ${word} ]`)
})

test('connections are named where calls must share them, and the right calls stay apart', () => {
  const steps = [list(hmac('root')), { ...wrongSecret, connection: 'new' as const }, list(none)]
  const lines = written(steps, { sharesConnection: true })
  expect(lines.filter((line) => line.includes('connection: one'))).toEqual([
    'call: solution/listSolutions, auth: { hmac: root }, connection: one, expect: accepted',
    'call: solution/listSolutions, auth: none, connection: one, expect: refused',
  ])
  expect(written(steps).join()).not.toContain('connection')
})

test('a header that is sent again is kept', () => {
  const sent: CallStep = list(hmac('root'), { as: 'sent1' })
  const lines = written([sent, list({ header: '$sent1.header' })])
  expect(lines.join()).toContain('expect: accepted, keep: { sent-header: sent.header }')
  expect(lines.at(-1)).toContain('auth: { header: $sent-header }')
})

test('a form that the document does not show is sent by another way to authorize, and a long body nearly as long', () => {
  const of = (body: string | { size: number }): string =>
    written([{ ...right, body }], { expect: 'accepted' })[0]?.replace(', expect: accepted', '') ?? ''
  expect(of('with-numbers')).toContain('auth: { hmac: root }, body: with-numbers')
  expect(of('crlf-appended')).not.toContain('body:')
  expect(of({ size: 2048 })).toContain('body: { size: 2047 }')
})

test('comments say which key is which, and what is changed how', () => {
  const change = { field: 'sent-body', operation: 'space-appended' }
  const steps = [changed(list(ecc('ecc-a')), change), wrongSecret]
  const about = (key: string) => (key === 'ecc-a' ? 'a key with a public key' : undefined)
  const lines = textOf(steps, 'signatures/ecc', { about }).split('\n')
  expect(lines.filter((line) => line.startsWith('#'))).toEqual([
    '# bob is ecc-a of the report: a key with a public key',
    '# sent-body is the body that is sent after the right one was signed',
    '# basic-secret is the secret in Basic credentials; inside-changed is {"change":"inside"} in fixtures/deviations.yaml',
    '# basic-word is the word before Basic credentials; upper-case is {"case":"upper"} in fixtures/deviations.yaml',
  ])
})

test('a finding that was not seen again is not written', () => {
  const input = { requirement: 'a/b', part: '1', sentence: 'S', message: 'M', expect: 'refused' } as const
  expect(fixtureText({ ...input, steps: [right], outcomes: ['accepted'], isSeenAgain: false })).toEqual({
    fixture: null,
    whyNoFixture: 'it was not seen again, so these steps do not show it',
  })
})

test('a session that sixteen newer ones follow is removed in every reading', () => {
  const session = (at: number): Step => inDocumentOrder(grant('root', [`session:n${at}$unique`], { as: `crowd${at}` }))
  const newer = Array.from({ length: 16 }, (_, at) => session(at))
  const oldest = inDocumentOrder(grant('root', ['session:old$unique'], { as: 'pair1' }))
  const old = [oldest, refresh('pair1', { as: 'pair2' })]
  const isWritten = (steps: readonly Step[]): boolean =>
    textOf([...steps, refresh('pair2', { as: 'pair3' })], 'refresh/session-kept') !== ''
  expect(isWritten([...old, ...newer])).toBe(true)
  expect(isWritten([...old, ...newer.slice(1)])).toBe(false)
  expect(isWritten([...old, ...newer.slice(0, 8), list(token('pair2')), ...newer.slice(8)])).toBe(false)
})

test('a refused creation is written without the name of its key', () => {
  const params = { name: 'twin-$unique', scope: ['solution'], publicKey: '$ecc-a-own.publicKey' }
  const step = create(basic('root'), params, { as: 'ecc-a' })
  const line = written([step], { expect: 'accepted', requirement: 'keys/public-key' }).at(-1) ?? ''
  expect(line).not.toContain('keep')
  expect(line).toContain('expect: accepted')
})

test('a third address is one of the loopback', () => {
  const text = textOf([...steps.slice(0, 2), list(token('pair7'), { from: '127.0.1.1' })])
  expect(text).toContain('auth: { token: $pair.accessToken }, from: 127.0.1.1, expect: refused')
  expect(text).toContain('needs: [ sessions, second-address ]')
})

test('what came between is a comment, whatever the calls contain', () => {
  const since = { from: 'The same call was refused before', calls: ['A grant for "a\nsteps: []\u001b[31m"'] }
  const text = textOf(steps, 'refresh/revokes-access', { since })
  expect(text).toContain('# The same call was refused before. What came between:\n')
  expect(text).toContain('# - A grant for "a\\nsteps: []\\u001b[31m"\n')
})
