/**
 * Judges traffic while it passes, in a thread of its own, because a search for a mistake takes half a second and no answer may wait for it.
 * Where calls come faster than they are judged, some are left out, and what was known of tokens is forgotten then.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { isDocumentedMethod } from '../engine/document.ts'
import { type Printable, printable } from '../engine/printable.ts'
import { createRedactor } from '../engine/redact.ts'
import type { Begun, Judged } from './follow.ts'
import { openMarks } from './marks.ts'
import { type Observed, observedOf, type Seen } from './records.ts'
import { type Outcome, openSession, type SessionOptions } from './session.ts'

interface JudgingOptions extends Pick<SessionOptions, 'terms' | 'keys' | 'requirements' | 'most'> {
  /** The file to which calls are saved; null: none. */
  save: string | null
  /** Whether secrets are printed and saved. */
  trace: boolean
}

interface Judging {
  begin(number: number, tell: () => Begun): void
  end(seen: Seen): void
  finish(): Promise<Outcome>
}

type Message<End = Observed> =
  /** `call` is absent where the end of the call is in the same batch. */
  | { kind: 'begin'; number: number; call?: Begun }
  | { kind: 'end'; ended: End }
  /** Calls were left out: their numbers. */
  | { kind: 'lost'; numbers: number[] }
  | { kind: 'finish' }

/** `done`, `bytes`: how many calls were judged since the reply before, and how large they were. */
interface Reply {
  lines: Printable[]
  done: number
  bytes: number
  outcome: Outcome | null
}

/** Calls that wait to be judged; more of them are left out. */
const mostWaiting = 4000
const mostWaitingBytes = 64 * 1024 * 1024
/** Most calls are over in this time, and are handed on once. */
const batchMs = 20
const mostInBatch = 200

/** In a thread of its own where there is a built worker; the sources run in the same thread. */
export function openJudging(options: JudgingOptions, print: (lines: readonly Printable[]) => void): Judging {
  const file = fileURLToPath(import.meta.url)
  return extname(file) === '.js' ? judgeInThread(file, options, print) : judgeHere(options, print)
}

function judgeInThread(file: string, options: JudgingOptions, print: (lines: readonly Printable[]) => void): Judging {
  // Most of the memory for a call is soon free again. With Node's default limit, a busy proxy needs 50 % more.
  const worker = new Worker(file, { workerData: options, resourceLimits: { maxYoungGenerationSizeMb: 16 } })
  const outcome = new Promise<Outcome>((resolve, reject) => {
    worker.on('message', (reply: Reply) => {
      waiting -= reply.done
      bytes -= reply.bytes
      if (reply.lines.length > 0) print(reply.lines)
      if (reply.outcome !== null) resolve(reply.outcome)
    })
    worker.on('error', reject)
  })
  // Whoever asks for the outcome hears of it.
  outcome.catch(() => {})
  let waiting = 0
  let bytes = 0
  let lost: number[] = []
  let batch: (Message<Seen> | { kind: 'begin'; number: number; tell: () => Begun })[] = []
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const ended = new Set(batch.map((one) => (one.kind === 'end' ? one.ended.number : undefined)))
    // Most calls are over when they are handed on; then their end says all.
    const told = batch.map((one): Message<Seen> => {
      if (!('tell' in one)) return one
      const { kind, number, tell } = one
      return ended.has(number) ? { kind, number } : { kind, number, call: tell() }
    })
    if (told.length > 0) worker.postMessage(told)
    batch = []
  }
  const post = (message: (typeof batch)[number]): void => {
    batch.push(message)
    if (batch.length >= mostInBatch || message.kind === 'finish') flush()
    else timer ??= setTimeout(flush, batchMs)
  }
  const tellLost = (): void => {
    if (lost.length > 0) post({ kind: 'lost', numbers: lost })
    lost = []
  }
  return {
    begin(number, tell) {
      if (lost.length === 0) post({ kind: 'begin', number, tell })
    },
    end(seen) {
      if (waiting >= mostWaiting || bytes > mostWaitingBytes) {
        lost.push(seen.number)
        return
      }
      tellLost()
      waiting += 1
      bytes += bytesOf(seen)
      post({ kind: 'end', ended: seen })
    },
    async finish() {
      tellLost()
      post({ kind: 'finish' })
      const all = await outcome
      await worker.terminate()
      return all
    },
  }
}

/** Reads the calls of a batch, each once. */
function readBatch(batch: readonly Message<Seen>[]): Message[] {
  const seen = new Map<number, Observed>()
  const read = batch.map((message): Message => {
    if (message.kind !== 'end') return message
    const ended = observedOf(message.ended)
    seen.set(ended.number, ended)
    return { kind: 'end', ended }
  })
  return read.map((message): Message => {
    const begun = message.kind === 'begin' && message.call === undefined ? seen.get(message.number) : undefined
    return begun === undefined
      ? message
      : { kind: 'begin', number: begun.number, call: { ...begun, from: begun.order.from } }
  })
}

const bytesOf = ({ body, answer }: Seen): number => body.length + (answer?.body.length ?? 0)

function judgeHere(options: JudgingOptions, print: (lines: readonly Printable[]) => void): Judging {
  const desk = openDesk(options)
  const take = (message: Message): Outcome | null => {
    const { lines, outcome } = desk(message)
    if (lines.length > 0) print(lines)
    return outcome
  }
  return {
    begin: (number, tell) => void setImmediate(take, { kind: 'begin', number, call: tell() }),
    end: (seen) => void setImmediate(take, { kind: 'end', ended: observedOf(seen) }),
    finish: () =>
      new Promise((resolve) => {
        setImmediate(() => resolve(take({ kind: 'finish' }) as Outcome))
      }),
  }
}

/** Takes one message after the other. @returns what is to be printed, and at the end the outcome */
function openDesk({ save, trace, ...options }: JudgingOptions) {
  const marks = trace ? null : openMarks()
  const file = save === null ? null : openSync(save, 'w', 0o600)
  const texts = new Map(options.requirements.map(({ id, text }) => [id, text]))
  let lines: Printable[] = []
  const session = openSession({
    ...options,
    onJudged(judged) {
      lines.push(...linesOf(judged, (id) => texts.get(id) ?? id, trace))
      // A call whose signature was open until now is written again; the later line counts.
      if (file !== null)
        for (const observed of [...judged.settled, judged.observed])
          write(file, marks?.line(observed) ?? JSON.stringify(observed, readableBytes))
    },
  })
  const write = (to: number, line: string): void => void writeSync(to, `${line}\n`)
  if (file !== null) write(file, marks?.head(options.keys) ?? JSON.stringify({ keys: options.keys }, readableBytes))
  return (message: Message): { lines: Printable[]; outcome: Outcome | null } => {
    lines = []
    let outcome: Outcome | null = null
    if (message.kind === 'begin' && message.call !== undefined) session.begin(message.number, message.call)
    if (message.kind === 'end') session.end(message.ended)
    if (message.kind === 'lost') session.lose(message.numbers)
    if (message.kind === 'finish') {
      outcome = session.finish()
      if (file !== null) closeSync(file)
    }
    return { lines, outcome }
  }
}

const readableBytes = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : value

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 23)

/** One line for a call, and what there is to say about its answer below. */
function linesOf(
  { observed, method, way, key, answer, why, wrong }: Judged,
  sentenceOf: (id: string) => string,
  trace: boolean,
): Printable[] {
  const { startedMs, answeredMs, address, oursBecause } = observed
  const status = observed.answer === null || observed.answer.status === 0 ? [] : [observed.answer.status]
  const took = answeredMs === null ? [] : [`${Math.max(0, Math.round(answeredMs - startedMs))} ms`]
  const said = answer === 'no-call' ? [] : [answer]
  const what = [...said, ...status, ...took].join(' ')
  const whyNot = answer === 'no-call' ? '  not judged: the document shows POST alone' : ''
  // Nothing foreign stands in the line of an accepted call but the id of its key.
  const isPlain = answer === 'accepted' && isDocumentedMethod(method) && wrong.length === 0 && oursBecause === undefined
  const secrets = trace || isPlain ? [] : [...secretsIn(observed)]
  const redact = secrets.length === 0 ? (text: string) => text : createRedactor(secrets).text
  const line = (text: string): Printable => printable(redact(text))
  return [
    line(
      `${timeOf(startedMs)}  ${address || '-'}  ${method || observed.httpMethod}  ${way}${key === null ? '' : ` ${key}`}  ${oursBecause ?? what + whyNot}`,
    ),
    ...why.map((text) => line(`    why: ${text}`)),
    ...wrong.map(({ message, level, requirement, observed: shown }) => {
      const when = shown === observed ? '' : ` at ${timeOf(shown.startedMs)}`
      return line(`    WRONG (${level}): ${message}${when}. "${sentenceOf(requirement)}" (${requirement})`)
    }),
  ]
}

/** The credentials of one call, and what it was given: a message of the server may repeat them. */
function* secretsIn({ headers, body, answer }: Observed): Generator<string> {
  for (const [name, value] of headers) if (name.toLowerCase() === 'authorization') yield value.replace(/^\S+\s+/, '')
  const texts = [Buffer.from(body).toString('utf8'), answer?.body ?? '']
  for (const text of texts)
    for (const [, secret = ''] of text.matchAll(
      /"(?:apiKeySecret|secret|accessToken|refreshToken)"\s*:\s*"((?:[^"\\]|\\.)+)"/g,
    ))
      yield secret
}

// ---- the worker itself

if (parentPort !== null && (workerData as { terms?: unknown } | null)?.terms !== undefined) {
  const port = parentPort
  const desk = openDesk(workerData as JudgingOptions)
  const emptyReply = (): Reply => ({ lines: [], done: 0, bytes: 0, outcome: null })
  let reply = emptyReply()
  const flush = (): void => {
    if (reply.lines.length > 0 || reply.done > 0 || reply.outcome !== null) port.postMessage(reply)
    reply = emptyReply()
  }
  port.on('message', (batch: Message<Seen>[]) => {
    for (const [at, message] of readBatch(batch).entries()) {
      const sent = batch[at]
      const { lines, outcome } = desk(message)
      reply.lines.push(...lines)
      reply.outcome = outcome
      if (sent?.kind === 'end') {
        reply.done += 1
        reply.bytes += bytesOf(sent.ended)
      }
      // A search takes half a second, and lines are awaited.
      if (lines.length > 1 || outcome !== null) flush()
    }
    flush()
  })
}
