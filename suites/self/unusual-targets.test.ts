/** Conforming servers whose users have unusual words, keys and settings: nothing may fail, and cases that cannot run have a reason. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import type { TargetSettings } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledSettings, bundledTarget, lastingTarget, rules, type ServerOptions } from '../targets/bundled.ts'
import { turnUnlessProof } from './proof-form.ts'

interface Unusual {
  name: string
  server: ServerOptions
  settings: Partial<TargetSettings>
  target: typeof bundledTarget
  /** The cases to run: ids as for --only; all of them unless given. */
  only?: string[]
  /** Allowed reasons for cases that cannot run. */
  reasons: RegExp
}

const changesNothing = /^Cannot make the (mistake|alteration) ".*": it changes nothing in this (request|text)$/
const undeclared =
  /cleanup in the target file|secondAddress in the target file|clientAddress in the target file|probes\.|solutions in the target file|fewer than [0-9]+ places|no place is left|^the list that the next step goes through is empty$/

/** A token reaches inbox methods only if it may also manage every Context. */
function inboxInCompany(): NonNullable<ServerOptions['around']> {
  const scopes = new Map<string, string[]>()
  return (handle) => async (request) => {
    const text = String(request.body)
    const granted = scopes.get(request.headers.authorization?.split(' ')[1] ?? '')
    const lacksCompany = granted !== undefined && !granted.includes('solution:*')
    const answer = await handle(
      lacksCompany ? { ...request, body: Buffer.from(text.replace('inbox/', 'no/')) } : request,
    )
    const { result } = JSON.parse(answer.body)
    if (typeof result?.accessToken === 'string') scopes.set(result.accessToken, result.scope)
    return answer
  }
}

const unusual: Unusual[] = [
  {
    name: 'a probe of inbox that needs another scope besides inbox',
    server: { around: inboxInCompany() },
    settings: {
      probes: {
        ...bundledSettings([]).probes,
        inbox: { method: 'inbox/listInboxes', params: {}, scope: ['solution:*'] },
      },
    },
    target: lastingTarget,
    only: ['scopes', 'test-keys'],
    reasons: undeclared,
  },
  {
    name: 'a scheme word in capitals',
    server: { profile: { scheme: 'X-SVC' } },
    settings: { scheme: 'X-SVC' },
    target: bundledTarget,
    only: ['signatures', 'authorization', 'test-keys'],
    reasons: changesNothing,
  },
  {
    name: 'a signed URI that is the root',
    server: { rules: { dataToSign: (parts) => rules.dataToSign({ ...parts, uri: '/' }) } },
    settings: { signedUri: '/' },
    target: bundledTarget,
    only: ['signatures', 'test-keys'],
    reasons: changesNothing,
  },
  {
    name: 'a signed URI without its leading slash',
    server: { rules: { dataToSign: (parts) => rules.dataToSign({ ...parts, uri: 'api' }) } },
    settings: { signedUri: 'api' },
    target: bundledTarget,
    only: ['signatures', 'test-keys'],
    reasons: changesNothing,
  },
  {
    name: 'an id and a secret of one letter',
    server: { rootKey: { id: 'a', secret: 'b' } },
    settings: {},
    target: bundledTarget,
    reasons: changesNothing,
  },
  {
    name: 'a secret beyond ASCII',
    server: { rootKey: { id: 'root', secret: 'пароль-鍵-00001' } },
    settings: {},
    target: lastingTarget,
    reasons: /HTTP headers do not take their characters$/,
  },
  {
    name: 'a target that declares nothing',
    server: {},
    settings: { probes: {}, solutions: [], cleanup: undefined, secondAddress: undefined, clientAddress: undefined },
    target: lastingTarget,
    reasons: undeclared,
  },
  {
    name: 'a target that can disable keys and not delete them',
    server: {},
    settings: { cleanup: undefined },
    target: lastingTarget,
    reasons: undeclared,
  },
]

const corpus = await openCorpus()

test.each(unusual.map((one, at) => ({ ...one, at })))(
  '$name',
  async ({ server, settings, target, only, reasons, at }) => {
    const all = allItems(corpus).filter((item) => only === undefined || only.some((id) => answersTo(item, id)))
    // Outside of a proof each target gets another part of the cases.
    const items = turnUnlessProof(all, 9, at)
    const outcomes = await runAll({ target: target(server, settings), corpus, items })
    const open = outcomes.filter(({ verdict }) => verdict !== 'passed')
    const wrong = open.filter(({ verdict }) => verdict !== 'not-testable')
    expect(wrong.map(({ key, verdict, problem }) => `${verdict} ${key}: ${problemText(problem)}`)).toEqual([])
    expect(open.map(({ problem }) => problemText(problem)).filter((message) => !reasons.test(message))).toEqual([])
    expect(open.length).toBeLessThan(outcomes.length / 4)
  },
)
