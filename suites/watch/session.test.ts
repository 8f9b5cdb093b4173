/** What is said of traffic that was made by hand: who is right, who is wrong, and what stays open. */
import { describe, expect, test } from 'vitest'
import { utf8 } from '../engine/signer/bytes.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { sign } from '../engine/signer/sign.ts'
import { basicHeader, body, rootKey, rootSecret, startMs } from '../self/made-up-calls.ts'
import {
  asked,
  granted,
  judgedTraffic,
  listed,
  pairNamed,
  renewed,
  root,
  scheme,
  signedCall,
  terms,
  withToken,
} from '../self/made-up-traffic.ts'
import { openMarks } from './marks.ts'
import { type NamedKey, type Observed, readTraffic } from './records.ts'
import { type Outcome, openSession, replay } from './session.ts'

const spaced = body('solution/listSolutions').replaceAll(':', ': ').replaceAll(',', ', ')
const startsWith = (...texts: string[]) => texts.map((text) => expect.stringMatching(new RegExp(`^${text}`)))
/** That the body was signed as it was sent is a check that failed. */
const bodyNotAsSent = expect.objectContaining({ id: 'signature/body-as-sent', verdict: 'failed' })
/** What is told of clients, with the numbers of calls instead of the calls. */
const numbered = (clients: Outcome['clients']) =>
  clients.map(({ checks, ...client }) => ({
    ...client,
    checks: checks.map(({ findings, ...check }) => ({
      ...check,
      findings: findings.map((one) => ({ ...one, exchanges: one.exchanges.map(({ number }) => number) })),
    })),
  }))

test('no call waits for the end of one that was left out', () => {
  const lines: string[] = []
  const onJudged = ({ answer }: { answer: string }) => void lines.push(answer)
  const session = openSession({ terms, keys: [root], requirements: [], onJudged })
  session.begin(99, { ...renewed(0, 'a', 'b'), from: 1 })
  session.lose([99])
  replay(session, [[renewed(10, 'a', 'c')]])
  expect(lines).toEqual(['accepted'])
  expect(session.finish().lacks).toEqual(startsWith('1 calls came faster'))
})

test('a client is not warned of what the calls that were left out may explain', () => {
  const session = openSession({ terms, keys: [root], requirements: [] })
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  for (const [at, name] of names.entries()) {
    // The accepted call between two refreshes came too fast.
    session.begin(at + 1, { ...withToken(at * 100, name), from: at * 100 })
    session.lose([at + 1])
    replay(session, [[renewed(at * 100 + 50, name, names[at + 1] ?? 'i')]])
  }
  const { clients } = session.finish()
  expect(clients.map(({ key }) => key)).toEqual([null])
  expect(clients.flatMap(({ checks }) => checks).filter(({ verdict }) => verdict !== 'passed')).toEqual([])
})

test('a wrong signature is told even if many calls came after it', () => {
  const later = Array.from({ length: 50 }, (_, at) => signedCall(100 + at, { result: listed }))
  const calls = [granted(0, 'a'), signedCall(50, { signedText: spaced }), ...later]
  const { clients, lacks } = judgedTraffic(calls, { most: { calls: 20 } })
  expect(lacks).toEqual(startsWith('The oldest 31 calls were forgotten'))
  expect(clients[0]?.checks).toContainEqual(bodyNotAsSent)
})

describe('tokens for two addresses that are accepted', () => {
  const forAddress = (atMs: number, name: string, address: string): Observed =>
    granted(atMs, name, ['solution', `ipAddr:${address}`])
  const used = (atMs: number, name: string, connection: number, more = {}): Observed =>
    withToken(atMs, name, { result: listed, connection, ...more })
  const grants = [forAddress(0, 'a', '192.0.2.1'), forAddress(10, 'b', '192.0.2.2')]

  test('on one connection accuse the server, also where one of them was refreshed', () => {
    expect(judgedTraffic([...grants, used(20, 'a', 7), used(30, 'b', 7)]).ids).toEqual(['found/addresses/bound/let-in'])
    const renewal = renewed(20, 'a', 'c', { result: pairNamed('c', ['solution', 'ipAddr:192.0.2.1']) })
    const refreshed = judgedTraffic([...grants, renewal, used(30, 'c', 7), used(40, 'b', 7)])
    expect(refreshed.ids).toEqual(['found/refresh/address-kept/let-in'])
  })

  const through = (address: string) => ({ more: [['X-Forwarded-For', address] as [string, string]] })
  const unknown = { address: '' }
  test.each([
    ['on two connections', used(20, 'a', 7), used(30, 'b', 8)],
    ['where the connection is not known', used(20, 'a', 0), used(30, 'b', 0)],
    ['where the client is not known', used(20, 'a', 7, unknown), used(30, 'b', 7, unknown)],
    // It speaks for two callers.
    ['through a gateway', used(20, 'a', 7, through('192.0.2.1')), used(30, 'b', 7, through('192.0.2.2'))],
    ['but for one that was refused', used(20, 'a', 7), withToken(30, 'b', { connection: 7 })],
  ] as const)('%s accuse nobody', (_, one, other) => {
    expect(judgedTraffic([...grants, one, other]).ids).toEqual([])
  })

  test('in two files accuse nobody, because each counts its connections from 1', () => {
    const session = openSession({ terms, keys: [], requirements: [] })
    replay(session, [[...grants, used(20, 'a', 1)], [used(30, 'b', 1)]])
    expect(session.finish().found).toEqual([])
  })
})

describe('a refusal is explained', () => {
  test('by the mistake in a signature, if the secret is known', () => {
    const { lines, clients } = judgedTraffic([signedCall(0, { signedText: spaced })], { keys: [root] })
    expect(lines[0]?.why[0]).toMatch(/written again with spaces.*Sign the body exactly as sent/)
    expect(clients).toMatchObject([{ key: rootKey.id, address: '127.0.0.1' }])
    expect(clients[0]?.checks).toContainEqual(bodyNotAsSent)
  })

  const withLineFeed = signedCall(10, { signedText: `${body('solution/listSolutions')}\n` })
  const unauthorized = { result: undefined }
  const ofRefreshed = [granted(0, 'a'), renewed(1000, 'a', 'b'), withToken(4005, 'a')]
  const ofScope = 'The scope "context" of its token does not cover solution/listSolutions'
  const endedUnseen = [
    ...[granted(0, 'a', ['solution', 'session:one']), withToken(50, 'a', { result: listed }), withToken(100, 'a')],
    ...[renewed(200, 'a', 'b', unauthorized), { ...renewed(300, 'a', 'c'), answer: null }, withToken(400, 'a')],
  ]
  const unseen = 'Open: nothing that was seen ended its token'
  const ofPair = 'Open: calls before it leave open whether its pair is still valid'
  const withOld = asked(0, { authorization: 'Bearer of-before-012345' })
  const ofBefore = [withOld, signedCall(10, {}), renewed(20, 'of-before', 'x', unauthorized)]
  const notIssued = 'Not known: its token was not issued in sight'
  const ofKey = 'Not known: nothing was seen of the key'
  test.each<[how: string, calls: Observed[], why: string[]]>([
    ['with a secret that the traffic showed before', [granted(0, 'a'), withLineFeed], ['.*line feed']],
    ['by the refresh of its pair', ofRefreshed, ['Its pair was refreshed 3\\.0 s ago']],
    ['by what it lacks', [asked(0)], ['The call has no authorization']],
    ['by the scope of its token', [granted(0, 'c', ['context']), withToken(100, 'c')], [ofScope]],
    ['as open, where the token may have been ended unseen', endedUnseen, [unseen, unseen, ofPair]],
    ['as open, where what it rests on was not seen', ofBefore, [notIssued, ofKey, notIssued]],
  ])('%s', (_how, calls, why) => {
    const { lines, found } = judgedTraffic(calls)
    expect(lines.filter(({ answer }) => answer === 'refused').map((line) => line.why[0])).toEqual(startsWith(...why))
    expect(found).toEqual([])
  })
})

const use = (atMs: number, name: string) => withToken(atMs, name, { result: listed })
const inMember = { ...JSON.parse(body('solution/listSolutions')), token: pairNamed('a').accessToken }
const slow = renewed(100, 'a', 'b', { took: 50 })
const lost = renewed(100, 'a', 'b', { answer: null, answeredMs: null, deliveredMs: null })
const ofBefore = asked(0, { authorization: 'Bearer of-before-012345', result: listed })
const otherWord = asked(10, { authorization: `Token ${pairNamed('a').accessToken}`, result: listed })
const right: [name: string, calls: Observed[], keys?: NamedKey[]][] = [
  ['the old token while its refresh is under way', [granted(0, 'a'), slow, use(110, 'a')]],
  [
    'two refreshes at once, of which one is refused',
    [granted(0, 'a'), slow, renewed(110, 'a', 'c', { took: 10, result: undefined })],
  ],
  [
    'a token, a key and a refresh of before',
    [ofBefore, signedCall(10, { result: listed }), renewed(20, 'of-before', 'x'), use(30, 'x')],
  ],
  ['a call with a cookie instead', [asked(0, { result: listed, more: [['Cookie', 'session=1']] })]],
  ['a token in another place', [granted(0, 'a'), asked(10, { result: listed, text: JSON.stringify(inMember) })]],
  // Nobody has shown the given secret to be right.
  ['a signature that does not fit a secret', [signedCall(0, { secret: 'the-true-one', result: listed })], [root]],
  ['a method that the document does not show', [asked(0, { method: 'inbox/sendMessage', result: {} })]],
  ['another word before a token', [granted(0, 'a'), otherWord]],
  ['a lost answer to a refresh', [granted(0, 'a'), lost, use(2000, 'a')]],
]
test.each(right)(
  'what looks like a wrong acceptance, and may be right, is not found: %s',
  (_name, calls, keys = []) => {
    const { found, clients } = judgedTraffic(calls, { keys })
    expect(found).toEqual([])
    const failed = clients.flatMap(({ checks }) => checks).filter(({ verdict }) => verdict === 'failed')
    expect(failed.filter(({ level }) => level === 'document')).toEqual([])
  },
)

describe('an accepted call that does not fit its key', () => {
  // A search takes half a second.
  const diagnose = () => ({ valid: false, explained: false, mistakes: [], alternatives: [], ruledOut: [] })
  const seed = new Uint8Array(32).fill(7)
  const signer: NamedKey = { id: 'signer', publicKey: publicKeyOfSeed(seed) }
  const otherSigner: NamedKey = { id: 'signer', publicKey: publicKeyOfSeed(new Uint8Array(32).fill(8)) }
  const wrongHmac = signedCall(0, { secret: 'another', result: listed })
  const list = body('solution/listSolutions')
  const ecc = (atMs: number, text = list) => {
    const call = { scheme, keyId: 'signer', method: 'POST', uri: '/api', body: utf8(text) }
    const fresh = { timestamp: `${startMs + atMs}`, nonce: `${atMs}-012345678901234` }
    const { header } = sign({ ...call, key: { kind: 'ed25519', seed }, ...fresh })
    return asked(atMs, { authorization: header, result: listed })
  }
  const withBasic = (atMs: number, secret?: string) =>
    asked(atMs, { authorization: basicHeader(rootKey.id, secret), result: listed })
  const cases: [name: string, keys: NamedKey[], doubted: Observed, proof: Observed, id: string][] = [
    ['a MAC, before Basic', [root], wrongHmac, withBasic(100), 'signatures/hmac'],
    ['a MAC, before a grant', [root], wrongHmac, granted(100, 'a'), 'signatures/hmac'],
    ['a MAC, before a right one', [root], wrongHmac, signedCall(100, { result: listed }), 'signatures/hmac'],
    ['a MAC of a key that only a later grant shows', [], wrongHmac, granted(100, 'a'), 'signatures/hmac'],
    ['no MAC at all', [root], { ...wrongHmac, headers: garbled(wrongHmac) }, withBasic(100), 'signatures/hmac'],
    ['Basic credentials', [root], withBasic(0, 'another'), withBasic(100), 'basic/credentials'],
    ['an ED25519 signature', [signer], ecc(0, `${list} `), ecc(100), 'signatures/ecc'],
  ]
  test.each(cases)('is found once the key is shown to be right: %s', (_name, keys, doubted, proof, id) => {
    const { found, lacks, judged, lines } = judgedTraffic([doubted, proof], { keys, diagnose })
    expect(found.map((one) => [one.id, one.observed.startedMs])).toEqual([[`found/${id}/let-in`, startMs]])
    expect([lacks, judged, lines[0]?.isJudged]).toEqual([[], 2, keys.length === 0])
  })

  test.each(cases)(
    'is no fault of a server of which the call is right, or refused: %s',
    (_name, keys, doubted, proof) => {
      const refused = { ...doubted, answer: { status: 401, headers: {}, body: '{"error":{"code":1}}' } }
      expect(judgedTraffic([refused, proof], { keys, diagnose }).ids).toEqual([])
      const right = { ...proof, startedMs: startMs, order: { from: startMs, to: startMs + 5 } }
      expect(judgedTraffic([right, proof], { keys, diagnose })).toMatchObject({ ids: [], lacks: [], judged: 2 })
    },
  )

  const ofSignatures = cases.filter(([, , , , id]) => id.startsWith('signatures/'))
  test.each(ofSignatures)(
    'stays open where the record may hold other bytes than were sent: %s',
    (_name, keys, doubted, proof) => {
      const unsure = { ...doubted, isExact: false }
      expect(judgedTraffic([unsure, proof], { keys, diagnose }).ids).toEqual([])
      const later = { ...unsure, startedMs: startMs + 200, order: { from: startMs + 200, to: startMs + 205 } }
      expect(judgedTraffic([proof, later], { keys, diagnose })).toMatchObject({
        ids: [],
        judged: 1,
        lacks: startsWith('1 signature of an accepted call does not fit the recorded body'),
      })
    },
  )

  test.each([
    ['the secret', root, [wrongHmac, signedCall(10, { secret: 'another', result: listed })]],
    ['the public key', otherSigner, [ecc(0), ecc(10)]],
  ])('stays open and is counted where nothing shows that the given key is right: %s', (what, key, calls) => {
    const { ids, judged, lacks } = judgedTraffic(calls, { keys: [key], diagnose })
    const said = `2 accepted calls do not fit ${what} that was given for the key "${key.id}"`
    expect([ids, judged, lacks]).toEqual([[], 0, startsWith(said)])
  })

  test.each(cases)('is found in the saved file as well: %s', (_name, keys, doubted, proof) => {
    const live = judgedTraffic([doubted, proof], { keys, diagnose })
    const marks = openMarks()
    const [one, last] = live.lines
    // As it was written before the second call.
    const { signature: _signature, signed: _signed, ...first } = one?.observed ?? doubted
    const lines = [first, ...(last?.settled ?? []), last?.observed ?? first].map((one) => marks.line(one))
    const file = [marks.head(keys), ...lines].join('\n')
    const saved = readTraffic(file, 'saved.jsonl')
    const again = judgedTraffic(saved.observed, { keys: saved.keys, diagnose })
    const told = ({ ids, judged, clients }: typeof live) => [ids, judged, numbered(clients)]
    expect(told(again)).toEqual(told(live))
  })
})

/** The same call with a signature that no key makes. */
function garbled({ headers }: Observed): [string, string][] {
  return headers.map(([name, value]) => [name, name === 'Authorization' ? value.replace(/[^;]*$/, 'garbage') : value])
}

test('a session that sixteen newer ones removed is found, and its refusal explained', () => {
  const grants = Array.from({ length: 17 }, (_, at) => granted(at * 2000, `s${at}`, ['solution', `session:n${at}`]))
  const used = (name: string, result?: object) => judgedTraffic([...grants, withToken(60_000, name, { result })])
  expect(used('s0', listed).ids).toEqual(['found/sessions/oldest-removed/let-in'])
  expect(used('s1', listed).ids).toEqual([])
  expect(used('s0').lines.at(-1)?.why).toEqual(startsWith('Its session was removed: 16 sessions'))
})

test('what is forgotten is open, and is said', () => {
  const grants = Array.from({ length: 30 }, (_, at) => granted(at * 10, `p${at}`))
  const reused = (atMs: number, name: string, next: string) => [
    renewed(atMs, name, next),
    withToken(atMs + 100, name, { result: listed }),
  ]
  const calls = [...grants, ...reused(400, 'p0', 'x'), ...reused(600, 'p29', 'y')]
  const { ids, lacks, lines } = judgedTraffic(calls, { most: { pairs: 10, calls: 20 } })
  expect(ids).toEqual(['found/refresh/revokes-access/let-in'])
  expect(lines.filter(({ wrong }) => wrong.length > 0)).toHaveLength(1)
  expect(lacks).toEqual(startsWith('.*pairs of tokens were forgotten', '.*calls were forgotten'))
})

test('what is seen of open questions is counted and not judged', () => {
  const refusal = { answer: { status: 401, headers: {}, body: '{"error":{"code":7}}' } }
  const used = withToken(10, 'a', { result: listed })
  expect(judgedTraffic([granted(0, 'a'), used, asked(20, refusal), asked(30, refusal)]).open).toEqual([
    { question: 'tokens/prefix', answer: '"Bearer"', times: 1 },
    { question: 'errors/outcomes', answer: 'HTTP 401, error 7', times: 2 },
  ])
})

test('several clients are told apart by key and address', () => {
  const { clients } = judgedTraffic([
    granted(0, 'a'),
    withToken(10, 'a', { result: listed }),
    withToken(20, 'a', { result: listed, address: '127.0.0.2' }),
    asked(30, { address: '127.0.0.3' }),
  ])
  expect(clients.map(({ key, address, calls }) => [key, address, calls])).toEqual([
    [rootKey.id, '127.0.0.1', 2],
    [rootKey.id, '127.0.0.2', 1],
    [null, '127.0.0.3', 1],
  ])
})

test('a saved file holds no secret, and is judged as the traffic was', () => {
  const text = body('solution/listSolutions')
  const calls = [
    granted(0, 'a'),
    signedCall(5, { result: listed }),
    signedCall(10, { signedText: text.toUpperCase() }),
    asked(20, { authorization: basicHeader(), result: listed }),
    asked(25, { authorization: basicHeader(rootKey.id, 'wrong-secret') }),
    renewed(100, 'a', 'b'),
    withToken(200, 'a', { result: listed }),
    withToken(300, 'b', { result: listed, target: `/api?token=${pairNamed('b').accessToken}` }),
    asked(400, {
      method: 'manager/createApiKey',
      params: { name: 'n', scope: ['solution'] },
      authorization: basicHeader(),
      result: { id: 'new-key', secret: 'new-secret-0123456789' },
    }),
  ]
  const live = judgedTraffic(calls, { keys: [root] })
  const marks = openMarks()
  const file = [marks.head([root]), ...live.lines.map(({ observed }) => marks.line(observed))].join('\n')
  const inBase64 = Buffer.from(rootSecret).toString('base64').slice(4, 20)
  for (const secret of [rootSecret, 'access-token', 'refresh-token', 'new-secret', 'wrong-secret', inBase64])
    expect(file).not.toContain(secret)
  const { observed, keys } = readTraffic(file, 'saved.jsonl')
  const again = judgedTraffic(observed, { keys })
  const told = ({ lines, clients, ids, judged }: typeof live) => ({
    ids,
    judged,
    lines: lines.map(({ answer, key, way, isJudged, why }) => ({ answer, key, way, isJudged, why })),
    clients: numbered(clients),
  })
  // A URL is shown as it is where secrets may be shown; a report leaves them out.
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replace(/token=[^\\"]*/g, 'token='))
  expect(plain(told(again))).toEqual(plain(told(live)))
  expect(again.ids).toEqual(['found/refresh/revokes-access/let-in'])
})
