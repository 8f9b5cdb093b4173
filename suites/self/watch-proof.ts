/** The traffic of a run, recorded as HAR and judged blind: what is found in it, beside what the model finds that listens to the same run. */
import { allItems } from '../engine/conversation/cases.ts'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { counted } from '../engine/group.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { fromUtf8, toBase64 } from '../engine/signer/bytes.ts'
import type { Target, WireRequest } from '../engine/target.ts'
import { namedMethods } from '../explore/open.ts'
import { isBroken, tryScenario } from '../run/explore.ts'
import { runAll } from '../run/run.ts'
import type { BrokenServer, ConformingServer } from '../servers/table.ts'
import { bundledSettings, lastingTarget } from '../targets/bundled.ts'
import { readTraffic } from '../watch/records.ts'
import { openSession, replay } from '../watch/session.ts'

export interface WatchProof {
  id: string
  calls: number
  /** Calls of which the answer was certain. */
  judged: number
  /** Requirements at which the model found something while it listened. */
  heard: { requirement: string; message: string }[]
  /** Those at which something was found in the traffic. */
  seen: string[]
  /** Findings that make a server fail, not those that only warn. */
  accused: string[]
  /** Findings, and what their scenarios show: here on the same server, elsewhere on the reference server; null without a scenario. */
  scenarios: { id: string; fixture: string | null; shown: { here: string; elsewhere: string } | null }[]
}

export async function proveWatch(server: BrokenServer | ConformingServer, corpus: Corpus): Promise<WatchProof> {
  const settings = 'settings' in server ? server.settings : {}
  const profile = 'profile' in server ? server.profile : {}
  const recorder = recordRun()
  const outcomes = await runAll({
    target: slow(lastingTarget({ profile, ...server.create() }, settings)),
    corpus,
    items: allItems(corpus),
    seed: 1,
    listens: true,
    listener: recorder.listener,
  })
  const named = { ...bundledSettings([]), ...settings }
  const session = openSession({
    terms: { scheme: named.scheme, tokenPrefix: null, uri: named.signedUri, ...namedMethods(named) },
    keys: [],
    requirements: corpus.requirements,
    // A search takes half a second, and says nothing about the server.
    diagnose: () => null,
  })
  replay(session, [readTraffic(recorder.har(), `${server.id}.har`).observed])
  const { found, calls, judged } = session.finish()
  const heard = outcomes.flatMap(({ findings = [] }) => findings)
  const scenarios: WatchProof['scenarios'] = []
  for (const { id, requirement, fixture } of found) {
    const verdictOn = (tried?: typeof server) =>
      tryScenario(
        fixture ?? '',
        requirement,
        corpus,
        tried && { settings, create: () => ({ profile, ...tried.create() }) },
      )
    const shown = fixture === null ? null : { here: await verdictOn(server), elsewhere: await verdictOn() }
    scenarios.push({ id, fixture, shown })
  }
  return {
    id: server.id,
    scenarios,
    calls,
    judged,
    heard: [...new Map(heard.map((one) => [one.requirement, one])).values()],
    seen: [...new Set(found.map(({ requirement }) => requirement))].sort(),
    accused: found.filter(({ level }) => level === 'must').map(({ id, message }) => `${id}: ${message}`),
  }
}

/** How long a call takes. Without this the clock, which only waiting moves, would stand still. */
const callMs = 12

const slow = (target: Target): Target => ({
  ...target,
  open: async (...given) => {
    const instance = await target.open(...given)
    return {
      ...instance,
      send: async (request) => {
        const answer = await instance.send(request)
        await instance.clock.sleep(callMs)
        return answer
      },
    }
  },
})

/** Records a run as a browser's tools would: times in whole milliseconds, texts as texts, each connection with a number. */
function recordRun() {
  const entries: object[] = []
  const connections = new Map<unknown, number>()
  /** From which address each connection is. */
  const addresses: string[] = []
  const freeFrom = (address: string): number => {
    const used = new Set(connections.values())
    const free = addresses.findIndex((own, at) => own === address && !used.has(at + 1))
    return free < 0 ? addresses.push(address) : free + 1
  }
  const listener = (event: RunEvent): void => {
    if (event.kind === 'exchange-begun') connections.set(event.request, freeFrom(addressOf(event.request)))
    if (event.kind !== 'exchange-made') return
    const { request, answer, sentAtMs, answeredAtMs } = event
    const connection = connections.get(request) ?? freeFrom(addressOf(request))
    connections.delete(request)
    if (answer.kind === 'none' && (answer.wasNotSent === true || answer.refusedConnection)) return
    const isCut = answer.kind === 'unread' || (answer.kind === 'answer' && answer.cut !== undefined)
    entries.push({
      startedDateTime: new Date(sentAtMs).toISOString(),
      time: answeredAtMs - sentAtMs,
      connection: String(connection),
      _clientAddress: addressOf(request),
      request: {
        method: request.method,
        url: `http://recorded.example${request.path}`,
        httpVersion: 'HTTP/1.1',
        headers: request.headers.map(([name, value]) => ({ name, value })),
        bodySize: request.body.length,
        postData: contentOf(request.body),
      },
      response: {
        status: answer.kind === 'none' ? 0 : answer.status,
        headers: Object.entries(answer.kind === 'none' ? {} : answer.headers).map(([name, value]) => ({ name, value })),
        content: isCut || answer.kind !== 'answer' ? { size: isCut ? -1 : 0 } : contentOf(answer.body),
      },
    })
  }
  return { listener, har: () => JSON.stringify({ log: { version: '1.2', entries } }) }
}

const addressOf = ({ from = '127.0.0.1' }: WireRequest): string => from

function contentOf(bytes: Uint8Array) {
  const text = fromUtf8(bytes)
  return { size: bytes.length, ...(text === null ? { text: toBase64(bytes), encoding: 'base64' } : { text }) }
}

/**
 * What a call broke that presents an id or a token which was never issued in sight: for who only sees the traffic, it may have been issued
 * before, so it stays open. The model that listens knows all that its server ever issued.
 */
const needsAllIssued = /^(signatures|basic|grants)\/key-id$|^tokens\/authorize$|^refresh\/token$/
/** Nor is it known which words for a scheme, or which other ways to authorize, a server has beside those of the document. */
const needsAllWays = /^(signatures\/scheme|authorization\/required)$/

const isOpenInTraffic = ({ requirement, message }: WatchProof['heard'][number]): boolean =>
  needsAllIssued.test(requirement) || (needsAllWays.test(requirement) && !message.includes('without authorization'))

/** The result as lines: each finding that was heard and not seen, each accused server, and last the counts. */
export function watchSummary(
  broken: readonly WatchProof[],
  conforming: readonly WatchProof[],
): { text: string; details: string[]; isProved: boolean } {
  const heard = broken.flatMap(({ id, heard: all, seen }) =>
    all.map((one) => ({ id, ...one, isSeen: seen.includes(one.requirement) })),
  )
  const hidden = heard.filter((one) => !one.isSeen && isOpenInTraffic(one))
  const missed = heard.filter((one) => !one.isSeen && !isOpenInTraffic(one))
  const showable = heard.length - hidden.length
  const share = showable === 0 ? 1 : 1 - missed.length / showable
  const more = broken.reduce(
    (sum, one) => sum + one.seen.filter((two) => !one.heard.some(({ requirement }) => requirement === two)).length,
    0,
  )
  const accused = conforming.filter((one) => one.accused.length > 0)
  const scenarios = broken.flatMap((one) => one.scenarios.map((two) => ({ ...two, id: `${one.id}: ${two.id}` })))
  const tried = scenarios.flatMap(({ shown, ...one }) => (shown === null ? [] : [{ ...one, ...shown }]))
  const repeated = tried.filter(({ here }) => isBroken(here))
  const unfair = tried.filter(({ elsewhere }) => elsewhere !== 'passed')
  const calls = [...broken, ...conforming].reduce((sum, one) => sum + one.calls, 0)
  const judged = [...broken, ...conforming].reduce((sum, one) => sum + one.judged, 0)
  return {
    details: [
      ...missed.map(({ id, requirement, message }) => `${id}: MISSED ${requirement}: ${message}`),
      ...hidden.map(({ id, requirement }) => `${id}: cannot be seen: ${requirement}`),
      ...tried
        .filter(({ here }) => !isBroken(here))
        .map(({ id, here }) => `${id}: its scenario shows ${here.slice(0, 80)}`),
      ...unfair.map(
        ({ id, elsewhere, fixture }) =>
          `${id}: its scenario shows ${elsewhere} on the reference server: UNFAIR\n${fixture}`,
      ),
      ...accused.map(({ id, accused: all }) => `${id}: ACCUSED ${all.join('; ')}`),
    ],
    text: [
      `${counted(broken.length, 'broken server')} and ${counted(conforming.length, 'conforming one')}, ${calls.toLocaleString('en')} calls, of which the document decides ${((100 * judged) / Math.max(1, calls)).toFixed(0)} %.`,
      `The model that listened found something at ${heard.length} places; of the ${showable} that traffic alone can show, ${showable - missed.length} are found (${(100 * share).toFixed(1)} %), and ${more} more.`,
      `${hidden.length === 1 ? 'One is' : `${hidden.length} are`} a call with a token or an id that was never issued in sight, or with another word for its scheme, which stays open.`,
      `${accused.length} of the ${counted(conforming.length, 'conforming server')} ${accused.length === 1 ? 'is' : 'are'} accused.`,
      `Of ${counted(scenarios.length, 'finding')} ${tried.length} can be asked again by a scenario, which ${repeated.length} of these servers fail; the reference server fails ${unfair.length === 0 ? 'none' : unfair.length}.`,
    ].join(' '),
    isProved: share >= 0.98 && accused.length === 0 && unfair.length === 0,
  }
}
