import { describe, expect, test } from 'vitest'
import { readDeviations } from '../engine/language/deviations.ts'
import { readPackageYaml } from '../engine/language/yaml-source.ts'
import { changeText } from '../engine/signer/operations.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { bareSettings } from '../engine/target.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { exploreInMemory } from '../self/explore-in-memory.ts'
import { isProof, onlyInProof, partUnlessProof } from '../self/proof-form.ts'
import { createHandler, type ServerOptions } from '../targets/bundled.ts'
import { isLocked } from './findings.ts'
import { coveringArray, noCoverage, pairsOf } from './matrix.ts'
import { openTarget } from './open.ts'
import { basic, list } from './step.ts'
import { cells } from './table.ts'
import { foundIn, refusing } from './test-findings.ts'
import { sequences } from './walk.ts'

const { requirements } = await openCorpus()
type Rules = NonNullable<ServerOptions['rules']>

/** Of an exploration that ends before it has done everything. */
const shortCalls = isProof ? 900 : 400

/** An exploration, with what it says of its calls beside what it found. */
async function explore(...asked: Parameters<typeof exploreInMemory>) {
  const { explored, ...more } = await exploreInMemory(...asked)
  return { ...more, ...explored }
}

const exploreServer = (server: Omit<ServerOptions, 'clock'>, maxCalls: number, controlled = true) =>
  explore(createHandler({ clock: 'virtual', ...server }), { maxCalls, seconds: 3600, controlled })

/** Nothing is sent to it. */
const nowhere = {
  url: 'http://127.0.0.1:1',
  root: { kind: 'secret', id: 'root', secret: 'secret' },
  settings: bareSettings,
  requestTimeoutMs: 1000,
  disposable: true,
} as const

describe('an exploration', () => {
  test.skipIf(!isProof)(onlyInProof('tries expired pairs again, though the table needs every call'), async () => {
    // Enough for the worlds, and half of what the table needs besides.
    const { skipped } = await exploreServer({}, 10_500)
    expect(skipped).not.toContain('expiry')
  })

  test('finds nothing at the reference server', async () => {
    const { findings, rootAccepted, calls, skipped, begun } = await exploreServer({}, shortCalls)
    expect(findings).toEqual([])
    expect(rootAccepted).toBe(true)
    expect(calls).toBeGreaterThan(shortCalls - 100)
    // It says for which sequences calls did not suffice, also where one was cut short.
    expect(skipped).toEqual(expect.arrayContaining(['public key material', 'hours later', 'ended keys']))
    expect(skipped.filter((name) => begun.has(name))).not.toEqual([])
  })

  test('finds nothing when it is made again at a URL with the same seed, and uses no nonce, session or public key twice', async () => {
    const { instance, loopback, ...ofUrl } = await openTarget(nowhere)
    await instance.close()
    const { handle, context } = createHandler({ clock: 'virtual' })
    const used = [new Set<string>(), new Set<string>()]
    for (const words of used) {
      const watched: typeof handle = (request) => {
        const { authorization = '' } = request.headers
        // Names of digits alone have two digits of the exploration, and may meet.
        const session = /"session:[^"]*[a-z][^"]*"/.exec(String(request.body))?.[0]
        for (const word of [authorization.split(';')[3], session])
          if (word !== undefined && word !== '') words.add(word)
        return handle(request)
      }
      const effort = { maxCalls: shortCalls, seconds: 3600, controlled: false }
      const { findings, calls } = await explore({ handle: watched, context }, { ...ofUrl, ...effort })
      for (const { id, publicKey } of context.state.keys.values())
        if (id !== context.root.id) {
          if (publicKey !== undefined) words.add(publicKey)
          context.state.keys.delete(id)
        }
      expect(findings).toEqual([])
      expect(calls).toBeGreaterThan(shortCalls - 100)
      expect(words.size).toBeGreaterThan(shortCalls / 5)
    }
    const [first = new Set(), second = new Set()] = used
    expect([...second].filter((word) => first.has(word))).toEqual([])
  })

  test('finds nothing behind a limit that answers 503 without Retry-After, to single calls and to calls at once', async () => {
    let [second, calls, limited] = [0, 0, 0]
    const around: ServerOptions['around'] =
      (handle, { clock }) =>
      async (request) => {
        const now = Math.floor(clock.now() / 1000)
        calls = now === second ? calls + 1 : 1
        second = now
        if (calls <= 50) return handle(request)
        limited += 1
        return { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>Too busy</h1>' }
      }
    const { findings, gone, calls: made } = await exploreServer({ around }, shortCalls)
    expect({ findings, gone }).toEqual({ findings: [], gone: null })
    // The limit was met; once it is known, the pace stays below it.
    expect(limited).toBeGreaterThan(0)
    expect(limited).toBeLessThan(100)
    expect(made).toBeGreaterThan(shortCalls - 100)
  })

  test('finds nothing where long session names are refused, and makes sessions there', async () => {
    const made: string[] = []
    const paramTaken: Rules['paramTaken'] = (_method, name, value, valid) =>
      valid && (name !== 'scope' || !/"session:(?![a-z0-9]{1,8}")/.test(JSON.stringify(value)))
    const around: ServerOptions['around'] = (handle) => async (request) => {
      const answer = await handle(request)
      if (String(request.body).includes('session:') && answer.body.includes('"result"')) made.push(answer.body)
      return answer
    }
    const { findings } = await exploreServer({ rules: { paramTaken }, around }, shortCalls)
    expect(findings).toEqual([])
    expect(made.length).toBeGreaterThan(5)
  })

  test('finds that each use prolongs a token, on a clock that nobody can move', async () => {
    const ends = new Map<string, number>()
    const accessExpired: Rules['accessExpired'] = (pair, nowMs) => {
      if (nowMs >= (ends.get(pair.id) ?? pair.accessExpiryMs)) return true
      ends.set(pair.id, nowMs + pair.accessExpiryMs - pair.issuedMs)
      return false
    }
    const { findings } = await exploreServer({ rules: { accessExpired } }, 1000, false)
    expect(findings.map(({ requirement }) => requirement)).toContain('expires-in/enforced')
  })

  test('ends if no authorization is accepted, and says that nothing could be shown', async () => {
    const { rootAccepted, calls, unproved } = await exploreServer(
      refusing(() => true),
      500,
    )
    expect(rootAccepted).toBe(false)
    expect(unproved).toEqual([expect.stringMatching(/^anything: .* the initial key was refused/)])
    expect(calls).toBeLessThan(100)
  })
})

describe('the table', () => {
  const operations = readDeviations()

  test('names only operations that there are, and fields of one name break one requirement', () => {
    for (const field of operations.fields) expect(operations.changesOf(field).length).toBeGreaterThan(0)
    const known = new Set(requirements.map(({ id }) => id))
    expect(operations.fields.filter(({ breaks }) => !known.has(breaks))).toEqual([])
  })

  test('operations on one character and on nothing do no harm', () => {
    for (const field of operations.fields)
      for (const { operation = '' } of operations.changesOf(field).filter(() => field.operations === 'text'))
        for (const text of ['', 'x']) expect(typeof changeText(text, operations.text(operation))).toBe('string')
  })

  test('mistakes of signatures are tried with every key, and on manager/createApiKey', () => {
    const all = cells(readDeviations(), seededRandom(1))
    for (const [way, users] of [
      ['hmac', [0, 1, 2, 3]],
      ['ecc', [0, 1, 2]],
    ] as const) {
      const tried = all.filter((cell) => cell.way === way && cell.change.operation === 'data/with-get-method')
      expect(tried.flatMap(({ user }) => user ?? [])).toEqual(users)
      expect(tried.filter(({ creates }) => creates)).toHaveLength(1)
    }
  })
})

describe('the matrix', () => {
  const { dimensions, impossible } = readPackageYaml('fixtures/matrix.yaml').value as {
    dimensions: { [name: string]: string[] }
    impossible: { where: { [name: string]: string[] }[] }[]
  }

  test('every pair of values is in a row, or has a reason why it is in none', () => {
    const { rows: drawn, impossible: reasons } = coveringArray(1, 1)
    const rows = [...drawn]
    const pairs = new Set([...rows.flatMap(pairsOf), ...reasons.keys()])
    expect(pairs).toEqual(new Set(noCoverage().all))
    expect([...reasons.values()]).not.toContain('')
    expect(rows.length).toBeLessThan(220)
  })

  test('names only dimensions and values that there are', () => {
    for (const { where } of impossible)
      for (const [name, values] of where.flatMap((one) => Object.entries(one)))
        expect(dimensions[name]).toEqual(expect.arrayContaining([...values]))
  })
})

test('a seed draws the same sequences again', () => {
  expect(sequences(5, 4)).toEqual(sequences(5, 4))
  expect(sequences(5, 4)).not.toEqual(sequences(6, 4))
})

test.each([
  ['an address is banned', true],
  ['a key is lost', false],
])('if %s, the initial key is refused everywhere, and so is another key: %s', async (_what, isBanned) => {
  let isOver = true
  const server = refusing(({ headers: { authorization = '' } }, { root }) => {
    const decoded = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()
    return !isOver && (isBanned || `${authorization} ${decoded}`.includes(root.id))
  })
  const { x, found } = await foundIn(server, async ({ x }) => {
    isOver = false
    await x.call(list(basic('root')))
  })
  const triesOf = (id: string | null) => (id === null ? 20 : 0)
  expect(found.length).toBe(1)
  for (const one of found) expect(await isLocked(x, one, triesOf)).toBe(isBanned)
})

const maxCalls = isProof ? 1500 : 700

/** Explores a conforming server that sees our calls come from other addresses than we make them from. */
function exploreThrough(translated: (from: string) => string, loopback: boolean) {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const behind: typeof handle = (request) => handle({ ...request, remoteAddress: translated(request.remoteAddress) })
  return explore({ handle: behind, context }, { loopback, maxCalls })
}

const networks: readonly [string, (from: string) => string, boolean][] = [
  ['a proxy on this machine', () => '127.0.0.1', true],
  ['a network, to a server that is far away', () => '198.51.100.20', false],
  ['the port of a container', () => '172.17.0.1', true],
]
test.each(partUnlessProof(networks, 1))(
  'nothing is found in a conforming server behind %s',
  async (_name, translated, loopback) => {
    const { findings, calls, unproved } = await exploreThrough(translated, loopback)
    expect(findings.map(({ message, steps }) => [message, ...steps])).toEqual([])
    expect(calls).toBeGreaterThan(maxCalls - 500)
    // Only a proxy on this machine calls from an address of ours.
    expect(unproved.length).toBe(translated('') === '127.0.0.1' ? 0 : 1)
    for (const what of unproved) expect(what).toMatch(/^addresses\/bound:/)
  },
)
