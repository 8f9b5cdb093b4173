/** A server of a few lines in this process, for tests of how the engine handles its answers. */

import { type Run, startRun } from '../engine/conversation/conversation.ts'
import { runCase } from '../engine/conversation/run-case.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { readScenario } from '../engine/language/corpus.ts'
import { seededRandom } from '../engine/signer/random.ts'
import {
  bareSettings,
  type Instance,
  type RootKey,
  type Target,
  type TargetSettings,
  type WireRequest,
} from '../engine/target.ts'
import type { Capabilities } from '../run/capabilities.ts'

export interface MadeUpCall {
  id: unknown
  method: string
  params: { [name: string]: unknown }
  authorization: string | undefined
  from: WireRequest['from']
  connection: WireRequest['connection']
  /** The time of the server in ms since 1970. */
  nowMs: number
}

/** A result, or an answer without one. */
export type MadeUpAnswer =
  | { result: unknown }
  | { status: number; body?: unknown; headers?: { [name: string]: string } }
  | 'dropped'

/** What the server answers to a call; calls are numbered from 1. */
export type Answering = (call: MadeUpCall, number: number) => MadeUpAnswer

interface MadeUpTarget {
  answer: Answering
  fresh?: boolean
  root?: RootKey
  settings?: Partial<TargetSettings>
  /** How far the server's clock is ahead; it may change. In ms. */
  skewMs?: () => number
  /** Whether answers carry a Date header. */
  dated?: boolean
  /** How long every call takes. In ms. */
  callMs?: number
}

function parsed(body: Uint8Array): Pick<MadeUpCall, 'id' | 'method' | 'params'> {
  try {
    const { id = null, method = '', params } = JSON.parse(new TextDecoder().decode(body)) as Partial<MadeUpCall>
    return { id, method, params: typeof params === 'object' && params !== null ? params : {} }
  } catch {
    return { id: null, method: '', params: {} }
  }
}

const beganAtMs = 1_800_000_000_000

/** The calls that a server was asked, in their order. */
interface Heard {
  heard: readonly MadeUpCall[]
}

/** Lasting, as a server at a URL is: its clock cannot be moved, but its waits end at once. */
export function madeUpTarget(made: MadeUpTarget): Target & Heard {
  let localMs = beganAtMs
  const heard: MadeUpCall[] = []
  const { answer, fresh = true, skewMs = () => 0, dated = true, callMs = 5 } = made
  const instance: Instance = {
    baseUrl: 'http://made-up',
    root: made.root ?? { id: 'root', kind: 'secret', secret: 'not-a-secret' },
    settings: { ...bareSettings, ...made.settings },
    clock: {
      now: () => localMs,
      sleep: async (ms) => {
        await new Promise((resolve) => setImmediate(resolve))
        localMs += ms
      },
      controlled: false,
    },
    send: async ({ headers, body, from, connection }) => {
      localMs += callMs
      const { id, method, params } = parsed(body)
      const authorization = headers.find(([name]) => name === 'authorization')?.[1]
      const nowMs = localMs + skewMs()
      const call = { id, method, params, authorization, from, connection, nowMs }
      const given = answer(call, heard.push(call))
      if (given === 'dropped')
        return { kind: 'none', reason: 'the connection was dropped', refusedConnection: false, stale: false }
      const date = dated ? { date: new Date(nowMs).toUTCString() } : {}
      const [status, text, more] =
        'result' in given
          ? [200, { jsonrpc: '2.0', id, result: given.result }, {}]
          : [given.status, given.body ?? {}, given.headers ?? {}]
      return {
        kind: 'answer',
        status,
        headers: { ...date, ...more },
        body: new TextEncoder().encode(JSON.stringify(text)),
      }
    },
    sendTogether: (requests) => Promise.all(requests.map((request) => instance.send(request))),
    close: async () => {},
  }
  return { name: 'http://made-up', lasting: true, fresh, open: async () => instance, heard }
}

/** A corpus of nothing. */
export const noCorpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

/** What a lasting server offers where everything is allowed. */
export const capabilities: Capabilities = {
  settings: bareSettings,
  allow: ['sessions', 'keys', 'limits'],
  lasting: true,
  fresh: true,
  clockControlled: false,
  root: { kind: 'secret' },
  testKeys: [],
  kept: [],
  facts: null,
}

/** @param more what differs from a run of nothing that knows nothing */
export function runOf(target: Target, more: Partial<Parameters<typeof startRun>[0]> = {}): Run {
  return startRun({ target, corpus: noCorpus, facts: noFacts(), random: seededRandom(1), unique: 'test', ...more })
}

/** A run against a lasting server that answers so. */
export function answering(answer: Answering, more: Omit<MadeUpTarget, 'answer'> = {}): Run & Heard {
  const target = madeUpTarget({ answer, ...more })
  return Object.assign(runOf(target), { heard: target.heard })
}

export const accepting = () => ({ result: {} })

/** @param steps the steps of a scenario, in YAML; `before`: what stands before them */
export function ask(run: Run, steps: string, before = 'proves: [made/up]\n'): Promise<CaseOutcome> {
  const scenario = readScenario(`scenario: made up\n${before}steps:\n${steps}`, 'fixtures/scenarios/a/b.yaml').scenario
  const [testCase] = scenario.cases
  if (testCase === undefined) throw new Error('no case')
  return runCase(run, scenario, testCase)
}
