import { describe, expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { basicHeader, conversation, rootKey, rootSecret } from '../self/made-up-calls.ts'
import { listeningFindings } from './listen.ts'

const listMethod = 'solution/listSolutions'

describe('listening', () => {
  const talking = () => {
    const talk = conversation()
    const list = (authorization?: string, result: object | null = {}): void =>
      talk.end(talk.begin(listMethod, {}, authorization === undefined ? undefined : () => authorization), result)
    return { ...talk, list }
  }

  test('an old access token that is let in after its refresh', () => {
    const { grant, use, refresh, found } = talking()
    grant('one')
    use('one')
    refresh('one', 'two')
    expect(found()).toEqual([])
    use('one')
    expect(found()).toEqual(['found/refresh/revokes-access/let-in'])
  })

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

  test('wrong credentials that are let in, and a token that nobody issued', () => {
    const { list, found } = talking()
    for (const header of [basicHeader(rootKey.id, 'another-secret'), 'Bearer of-nobody', undefined]) list(header)
    expect(found()).toEqual([
      'found/basic/credentials/let-in',
      'found/tokens/authorize/let-in',
      'found/authorization/required/let-in',
    ])
  })

  test('nothing is said of another spelling of a token', () => {
    const { grant, list, pair, found } = talking()
    grant('One-and-only')
    const { accessToken } = pair('One-and-only')
    for (const text of [accessToken.toUpperCase(), `${accessToken}-more`, ` ${accessToken}`]) list(`Bearer ${text}`)
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
