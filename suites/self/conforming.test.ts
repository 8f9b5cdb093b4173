import { describe, expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { Instance } from '../engine/target.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { type ConformingServer, conformingServers } from '../servers/table.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { compatible, coveringServers, departuresOf, expectedDepartures, pairsOf, runVariant } from './conforming-run.ts'
import { isProof, lastingServer, onlyInProof, turnUnlessProof } from './proof-form.ts'

const variants = await conformingServers('own')
/** Outside of a proof each run gets another part of the cases. */
const part = (first: number) => ({ every: 48, first })
const servers = coveringServers(variants)

test('there is a reason for every case that may not pass', () => {
  const known = new Set(variants.map(({ id }) => id))
  expect(Object.keys(expectedDepartures).filter((id) => !known.has(id))).toEqual([])
  const cases = Object.values(expectedDepartures).flatMap((departures) => departures.map((one) => one.case))
  expect(cases.filter((name) => /^(failed|blocked) /.test(name))).toEqual([])
})

/** `npm run variants` tries each of them alone. */
test.each(variants.filter(({ id }) => id === 'base-url-with-a-path'))(
  'nothing fails where the document is silent: $id',
  async (variant) => {
    const { departures, messages, verdict, exitCode, wasRun } = await runVariant(variant, { part: part(3) })
    expect(departures, messages.join('\n')).toEqual(departuresOf([variant.id]).filter(wasRun))
    // A part of the cases alone shows no whole document.
    expect({ verdict, exitCode }).toEqual({ verdict: isProof ? 'conforms' : 'inconclusive', exitCode: 0 })
  },
)

test('every variant is in one of the servers, or is tried alone', () => {
  const together = new Set(servers.flatMap(({ ids }) => ids))
  expect(variants.filter(({ id, alone }) => together.has(id) === (alone === true)).map(({ id }) => id)).toEqual([])
})

test('every compatible pair of variants meets in one of the servers', () => {
  const met = (one: string, other: string) => servers.some(({ ids }) => ids.includes(one) && ids.includes(other))
  expect(pairsOf(variants).filter(([one, other]) => !met(one.id, other.id))).toEqual([])
})

// Outside of a proof every server gets another part of the cases, so that each pair of variants and each case has its turn.
const turns = servers.map((server, index) => ({ ...server, part: { every: 80, first: index } }))
test.each(turns)(
  'nothing fails if a server answers many open questions differently at once: $ids',
  async ({ part, ...server }) => {
    const { departures, messages, exitCode } = await runVariant(server, { part })
    // One variant may prevent the departure of another, so no departure is required here.
    const withReason = departuresOf(server.ids)
    const unexplained = departures.filter((departure) => !withReason.includes(departure))
    expect(unexplained, messages.join('\n')).toEqual([])
    expect(exitCode).toBe(0)
  },
)

test('two readings of one switch are not compatible', () => {
  const [one, other] = variants.filter(({ profile }) => profile.errorBody !== undefined)
  expect(one && other && compatible(one, other)).toBe(false)
})

const longest = [...coveringServers(variants)].sort((one, other) => other.ids.length - one.ids.length).slice(0, 1)
test.each(longest)('nothing fails on one server for the whole run: $ids', async (server) => {
  const { departures, messages, wasRun } = await runVariant(server, { lasting: lastingServer, part: part(0) })
  expect(departures, messages.join('\n')).toEqual(departuresOf(server.ids).filter(wasRun))
})

const corpus = await openCorpus()
const parts = Array.from({ length: 12 }, (_, part) => allItems(corpus).filter((_item, index) => index % 12 === part))

type Server = Pick<ConformingServer, 'create' | 'settings'>
const reference: Server = { create: () => ({}), settings: {} }

/** What such a server answers to the cases of a part. */
async function answersOf(part: number, { create, settings }: Server): Promise<string> {
  const target = bundledTarget({ seed: 'answers', ...create() }, settings)
  const answers: unknown[] = [settings]
  const open = async (): Promise<Instance> => {
    const instance = await target.open()
    answers.push(new URL(instance.baseUrl).pathname)
    const send: Instance['send'] = async (request) => {
      const answer = await instance.send(request)
      answers.push(answer.kind === 'answer' ? { ...answer, body: String(Buffer.from(answer.body)) } : answer)
      return answer
    }
    return { ...instance, send }
  }
  await runAll({ target: { ...target, open }, corpus, items: parts[part] ?? [], seed: 1 })
  return JSON.stringify(answers)
}

const ofReference: Promise<string>[] = []

/** Whether a server answers any case in another way than the reference server. */
async function differs(server: Server): Promise<boolean> {
  for (const part of parts.keys()) {
    ofReference[part] ??= answersOf(part, reference)
    if ((await answersOf(part, server)) !== (await ofReference[part])) return true
  }
  return false
}

/** Servers that differ only in calls that no case makes. */
const unasked = new Set([
  'access-token-used-outside-its-scope-is-withdrawn',
  'blanks-behind-key-id-ignored-in-grant',
  'blanks-behind-key-id-ignored-in-signatures',
  'cache-of-32-pairs-drops-the-longest-unused',
  'disabled-keys-take-no-places',
  'eight-live-tokens',
  'eight-wrong-signatures-make-signers-of-the-key-wait',
  'firewall-blocks-markup-and-quotes-in-names',
  'guessed-key-ids-ban-their-address',
  'keys-of-the-same-creator-are-one-user',
  'letter-case-of-key-id-ignored-in-basic',
  'nonces-are-unique-in-their-first-16-characters',
  'nonces-once-for-each-method',
  'params-that-are-null-count-as-absent',
  'session-opened-again-keeps-its-age',
  'several-addresses-must-all-fit',
  'three-live-pairs-of-a-key-outside-sessions',
  'timestamps-not-far-behind-the-last-of-their-key',
  'timestamps-of-the-future-refused',
  'token-for-solutions-alone-opens-all-of-its-key',
])

describe('no row is idle', async () => {
  test.each(turnUnlessProof(await conformingServers(), 128, 9))(
    '$id differs from the reference server',
    async (server) => {
      expect(await differs(server)).toBe(!unasked.has(server.id))
    },
  )

  test.skipIf(!isProof)(onlyInProof('the reference server does not differ from itself'), async () => {
    expect(await differs(reference)).toBe(false)
  })
})
