import { describe, expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Call } from '../engine/model/state.ts'
import {
  accepted,
  afterGrants,
  at,
  basicHeader,
  type Conversation,
  conversation,
  grantCall,
  hmacHeader,
  listWith,
  names,
  newState,
  refreshCall,
  rootKey,
  rootSecret,
  tokenHeader,
  tokensOf,
} from '../self/made-up-calls.ts'
import { type CaseCall, isIndependent } from './case-call.ts'
import { listeningFindings } from './listen.ts'

const listMethod = 'solution/listSolutions'

describe('listening', () => {
  const talking = () => {
    const talk = conversation()
    const list = (authorization?: string, result: object | null = {}): void =>
      talk.end(talk.begin(listMethod, {}, authorization === undefined ? undefined : () => authorization), result)
    return { ...talk, list }
  }

  test.each([true, false])('not while the refresh is under way (its answer comes first: %s)', (refreshIsFirst) => {
    const { grant, refreshing, using, use, pair, end, found } = talking()
    grant('one')
    const [renewal, call] = [refreshing('one'), using('one')]
    if (refreshIsFirst) end(renewal, pair('two'))
    end(call, {})
    if (!refreshIsFirst) end(renewal, pair('two'))
    expect(found()).toEqual([])
    use('one')
    expect(found()).toEqual(['found/refresh/revokes-access/let-in'])
  })

  test('a race that two refreshes of one token win has no order', () => {
    const { grant, refreshing, pair, end, found } = talking()
    grant('one')
    const racing = [refreshing('one'), refreshing('one'), refreshing('one')]
    for (const [at, request] of racing.entries()) end(request, at === 1 ? null : pair(`next-${at}`))
    expect(found()).toEqual(['found/refresh/revokes-refresh/history'])
  })

  test('a refusal says nothing: a limit or a lock may be its reason', () => {
    const { grant, list, found } = talking()
    list(basicHeader(), null)
    grant('one', [], null)
    expect(found()).toEqual([])
  })

  test('a token is known that came in answer to a request that the document does not show', () => {
    const { begin, end, use, pair, found } = talking()
    end(begin('manager/other', {}), pair('odd'))
    use('odd')
    const key = { apiKeyId: rootKey.id, apiKeySecret: rootSecret }
    const grant = { grantType: 'api_key_credentials', ...key, scope: ['solution'] }
    end(begin('manager/auth', grant, undefined, '/api/v2'), pair('more'))
    use('more')
    expect(found()).toEqual([])
  })

  test('what is the same for every call of an answer is told once', () => {
    const { grant, pair, found } = talking()
    for (const name of ['one', 'two']) grant(name, [], { ...pair(name), tokenType: 'bearer' })
    expect(found()).toEqual(['found/grants/result-token-type/shape'])
  })
})

test.each([
  ['passed', ['found/authorization/required/let-in', 'found/grants/result-scope/shape']],
  ['failed', ['found/grants/result-scope/shape']],
] as const)('what a case that %s shows already is not told again', (verdict, told) => {
  const found = ['authorization/required', 'grants/result-scope'].map((requirement, at) => {
    const id = `found/${requirement}/${at === 0 ? 'let-in' : 'shape'}`
    return { id, requirement, level: 'must' as const, message: '', steps: [] }
  })
  const outcome = { key: 'tokens/in-request', verdict, requirements: {}, envelope: [], findings: found }
  expect(listeningFindings([outcome as unknown as CaseOutcome], []).map(({ id }) => id)).toEqual(told)
})

describe('a preparation is lost with', () => {
  test('a token that the server issued twice is not lost by the refresh of its other pair', () => {
    const { grant, refresh, whyUse, pair } = conversation()
    grant('one')
    grant('two', [], { ...pair('two'), accessToken: pair('one').accessToken })
    refresh('one', 'three')
    expect(whyUse('one')).toBeUndefined()
  })

  test('a token that had expired for longer than a server may round', () => {
    const { grant, wait, whyUse } = conversation()
    grant('one', ['expiresIn:5000'])
    wait(5500)
    expect(whyUse('one')).toBeUndefined()
    wait(1500)
    expect(whyUse('one')).toEqual({ kind: 'token-expired', requirement: 'expires-in/enforced', agoMs: 2000 })
  })

  test('a token whose reported expiry tells it, once a short lifetime has shown the clock', () => {
    const { grant, wait, whyUse } = conversation()
    grant('clock', ['expiresIn:5000'], { ...conversation().pair('clock', 5000) })
    grant('one')
    wait(904_000)
    expect(whyUse('one')).toMatchObject({ kind: 'token-expired', requirement: 'tokens/expire' })
  })

  test('a token whose expiry had passed when it was reported is the fault of the server', () => {
    const { grant, wait, whyUse, pair } = conversation()
    grant('clock', ['expiresIn:5000'], pair('clock', 5000))
    grant('one', [], pair('one', -60_000))
    wait(1000)
    expect(whyUse('one')).toBeUndefined()
  })

  test('a session after sixteen newer ones, and not after fifteen', () => {
    const { grantSessions, wait, whyUse, whyRefresh } = conversation()
    grantSessions(['one'])
    wait(2000)
    grantSessions(names(15))
    expect(whyUse('one')).toBeUndefined()
    grantSessions(['the sixteenth'])
    const loss = { kind: 'session-removed', requirement: 'sessions/oldest-removed', newer: 16 }
    expect(whyUse('one')).toEqual(loss)
    expect(whyRefresh('one')).toEqual({ ...loss, requirement: 'sessions/removed-refresh' })
    expect(whyUse('more-0')).toBeUndefined()
  })

  const long = 'long'.repeat(1100)

  /** Sixteen newer sessions: half of them before something happens, and half after it. */
  const amongNewer = (talk: Conversation, happens: () => void): void => {
    talk.grantSessions(names(8))
    talk.wait(2000)
    happens()
    talk.wait(2000)
    talk.grantSessions(names(8, 'later'))
  }

  const usedLong = (talk: Conversation): void => {
    talk.grantSessions([long])
    talk.wait(2000)
    amongNewer(talk, () => talk.use(long))
  }
  /** Sessions of these names, and then a grant. */
  const then = (talk: Conversation, before: string[], name: string, scope: string[] = []): void => {
    talk.grantSessions(before)
    talk.grant(name, scope)
  }

  test.each<[what: string, session: string, happens: (talk: Conversation) => void]>([
    ['it was used among the newer ones', 'one', (talk) => amongNewer(talk, () => talk.use('one'))],
    ['it was refreshed among them', 'two', (talk) => amongNewer(talk, () => talk.refresh('one', 'two'))],
    ['its token is too long to be remembered', long, usedLong],
    ['one of their names is used again', 'one', (talk) => talk.grantSessions([...names(15), 'MORE-3'])],
    ['its own name is used again', 'one', (talk) => then(talk, names(16), 'two', ['session:ONE'])],
    ['one of them has no name', 'one', (talk) => then(talk, names(15), 'without a name')],
  ])('a session may be alive if %s', (_what, session, happens) => {
    const talk = conversation()
    talk.grantSessions(['one'])
    talk.wait(2000)
    happens(talk)
    expect(talk.whyUse(session)).toBeUndefined()
  })

  test('a session may be alive if all are as old as it, to a server that counts in seconds', () => {
    const { grantSessions, whyUse } = conversation()
    grantSessions(['one', ...names(16)])
    expect(whyUse('one')).toBeUndefined()
  })

  test('while another call is under way, what was answered before a call began is certain', () => {
    const { grant, refresh, refreshing, using, end, pair, lostPreparation } = conversation()
    grant('other')
    const other = using('other')
    grant('one')
    const early = using('one')
    refresh('one', 'two')
    const late = using('one')
    end(early, null)
    end(late, null)
    expect(lostPreparation(early)).toBeUndefined()
    expect(lostPreparation(late)).toMatchObject({ kind: 'pair-refreshed' })
    end(other, {})
    expect(lostPreparation(early)).toBeUndefined()
    const racing = [refreshing('two'), using('two')] as const
    end(racing[0], pair('three'))
    end(racing[1], null)
    expect(lostPreparation(racing[1])).toBeUndefined()
  })

  test('asking changes nothing about what is judged later', () => {
    const judged = (asks: boolean) => {
      const { grant, begin, using, end, lostPreparation, counts } = conversation()
      grant('one')
      const other = using('one')
      end(begin('solution/listSolutions', {}, hmacHeader), {})
      const refused = using('one')
      end(refused, null)
      if (asks) lostPreparation(refused)
      end(other, {})
      return counts
    }
    expect(judged(true)).toEqual(judged(false))
  })
})

test.each<[string, string, (talk: Conversation) => void, object | undefined]>([
  ['a token alone', 'one', ({ grant }) => grant('one'), undefined],
  [
    'three newer tokens of its key',
    'one',
    ({ grant }) => {
      for (const name of ['one', 'two', 'three', 'four']) grant(name)
    },
    { kind: 'newer-tokens', newer: 3, question: 'limits/live-tokens' },
  ],
  [
    'its used refresh token was sent again',
    'two',
    ({ grant, refresh, whyRefresh }) => {
      grant('one')
      refresh('one', 'two')
      whyRefresh('one')
    },
    { kind: 'pair-uncertain', question: 'refresh/family' },
  ],
  [
    'a session among those of others',
    'one',
    ({ grantSessions }) => grantSessions(['one']),
    { kind: 'sessions-of-others' },
  ],
])('what may explain a refusal where it is open: %s', (_what, name, talk, because) => {
  const told = conversation()
  talk(told)
  expect(told.judgeUse(name)).toEqual(because === undefined ? undefined : { is: 'open', because })
})

test('wrong attempts may have locked a key, until a call with it is accepted', () => {
  const { begin, end, judgeRefusal } = conversation()
  const basic = (secret: string) => () => `Basic ${btoa(`${rootKey.id}:${secret}`)}`
  const calls = (secret: string, result: object | null) => {
    const request = begin('solution/listSolutions', {}, basic(secret))
    end(request, result)
    return judgeRefusal(request)
  }
  const wrong = (times: number) => Array.from({ length: times }, () => calls('wrong', null)).at(-1)
  wrong(3)
  expect(calls(rootSecret, null)).toBeUndefined()
  const because = { kind: 'key-perhaps-locked', refused: 4, question: 'limits/lock-out' }
  expect(calls(rootSecret, null)).toEqual({ is: 'open', because })
  calls(rootSecret, {})
  wrong(3)
  expect(calls(rootSecret, null)).toBeUndefined()
})

const answered = { answer: accepted(), span: at(1), order: { from: 1, to: 2 }, isPlain: true }
const caseCall = (call: Call): CaseCall => ({ call, ...answered })

test('the order of a refresh and a use of its pair matters; a refresh token beside the credentials of a grant refreshes nothing', () => {
  const state = { ...afterGrants(newState(), ['p'], ['solution']), sessions: [] }
  const use = caseCall(listWith(tokenHeader('p')))
  const { refresh } = tokensOf('p')
  expect(isIndependent(state, [caseCall(refreshCall(refresh)), use])).toBe(false)
  expect(isIndependent(state, [caseCall(grantCall(['solution'], { refreshToken: refresh })), use])).toBe(true)
})
