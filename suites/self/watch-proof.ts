/** The traffic of a run, judged blind: what is found in it, beside what the model finds that listens to the same run. */
import { allItems } from '../engine/conversation/cases.ts'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { namedMethods } from '../explore/open.ts'
import { runAll } from '../run/run.ts'
import { type BrokenServer, bundledSettings, type ConformingServer, lastingTarget } from '../targets/bundled.ts'
import type { Observed } from '../watch/records.ts'
import { openSession, replay } from '../watch/session.ts'

interface WatchProof {
  id: string
  calls: number
  /** Calls of which the answer was certain. */
  judged: number
  /** Requirements at which the model found something while it listened. */
  heard: string[]
  /** Those of what was found in the traffic, and what. */
  seen: string[]
  messages: string[]
}

/** @param isItem which cases are run */
export async function proveWatch(
  server: BrokenServer | ConformingServer,
  corpus: Corpus,
  isItem: (index: number) => boolean = () => true,
): Promise<WatchProof> {
  const settings = 'settings' in server ? server.settings : {}
  const profile = 'profile' in server ? server.profile : {}
  const recorder = recordRun()
  const outcomes = await runAll({
    target: lastingTarget({ profile, ...server.create() }, settings),
    corpus,
    items: allItems(corpus).filter((_, index) => isItem(index)),
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
  replay(session, [recorder.observed()])
  const { found, calls, judged } = session.finish()
  const heard = outcomes.flatMap(({ findings = [] }) => findings.map(({ requirement }) => requirement))
  return {
    id: server.id,
    calls,
    judged,
    heard: [...new Set(heard)].sort(),
    seen: [...new Set(found.map(({ requirement }) => requirement))].sort(),
    messages: found.map(({ id, message }) => `${id}: ${message}`),
  }
}

/** Every exchange of a run as a proxy would have seen it. */
function recordRun() {
  const all: Observed[] = []
  const begun = new Map<unknown, number>()
  let order = 0
  const listener = (event: RunEvent): void => {
    if (event.kind === 'exchange-begun') begun.set(event.request, ++order)
    if (event.kind !== 'exchange-made') return
    const { request, answer, sentAtMs, answeredAtMs } = event
    const isOwn = answer.kind === 'none' && (answer.wasNotSent === true || answer.refusedConnection)
    if (isOwn) return
    const to = ++order
    all.push({
      number: all.length + 1,
      connection: 1,
      address: request.from ?? '127.0.0.1',
      startedMs: sentAtMs,
      receivedMs: sentAtMs,
      answeredMs: answer.kind === 'none' ? null : answeredAtMs,
      deliveredMs: answer.kind === 'none' ? null : answeredAtMs,
      order: { from: begun.get(request) ?? to - 1, to },
      httpMethod: request.method,
      target: request.path,
      headers: request.headers,
      body: request.body,
      bodyBytes: request.body.length,
      answer:
        answer.kind === 'none'
          ? null
          : {
              status: answer.status,
              headers: answer.headers,
              body: answer.kind === 'answer' ? new TextDecoder().decode(answer.body) : '',
            },
      faults: [],
      unknown: answer.kind === 'unread' || (answer.kind === 'answer' && answer.cut !== undefined) ? ['answer'] : [],
      isExact: true,
    })
  }
  return { listener, observed: () => all }
}
