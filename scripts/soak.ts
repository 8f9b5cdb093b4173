/**
 * `npm run soak`: a million signed calls and some thousand grants to one standalone server whose clock moves on in between, until nonces
 * and tokens expire; then callers that try to exhaust a server. Its memory must stay flat.
 *
 *     npm run soak [-- CALLS]     the number of calls; 0 leaves only the hostile callers
 */
import { execFileSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { builtBin } from '../suites/self/printed-by.ts'
import { readArguments, wrongArgument } from './arguments.ts'
import { basicRequest, grantRequests, sendAll, signedRequests } from './bench/load.ts'
import { median } from './bench/measure.ts'
import { type Started, startScript } from './bench/processes.ts'

const { positionals } = readArguments({ allowPositionals: true })
const [calls = 1_000_000] = positionals.map(Number)
if (positionals.length > 1 || !Number.isSafeInteger(calls) || calls < 0)
  wrongArgument(`"${positionals.join(' ')}" is not a number of calls`)
const rounds = 50
const grantsPerRound = 200
/** Makes 7 days, the lifetime of a refresh token, pass more than once. */
const roundMs = 6 * 60 * 60_000
/** The maximum ratio of the memory in the last quarter to that in the second one. */
const allowedGrowth = 1.25
/** How much an idle server grows with its first calls. In MiB. */
const warmUpMiB = 32
/** The most memory of the server under attack. */
const mostMiB = 400
const root = { id: 'soak', secret: 'not-a-secret-0001' }

const serveArgs = ['serve', '--key-id', root.id, '--key-secret', root.secret]
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const isFlat = [calls === 0 || (await soakWithCalls()), await soakWithCallers()]
process.exitCode = isFlat.every(Boolean) ? 0 : 1

/** With a small heap garbage does not hide what is kept. */
function startServer(...more: string[]): Promise<Started> {
  return startScript(builtBin, [...serveArgs, ...more], ['--max-old-space-size=96'])
}

async function soakWithCalls(): Promise<boolean> {
  const server = await startServer('--control', '--virtual-clock')
  const memory: number[] = []
  const begun = performance.now()
  for (let round = 1; round <= rounds; round++) {
    const nowMs = await advance(server, roundMs)
    await sendAll(server.port, grantRequests(root, grantsPerRound), 4)
    await sendAll(server.port, signedRequests(root, Math.ceil(calls / rounds), nowMs), 16)
    memory.push(residentMiB(server))
    if (round % 5 === 0) {
      const done = Math.round((calls / rounds) * round).toLocaleString('en')
      print(`${done.padStart(9)} calls   ${memory.at(-1)?.toFixed(0)} MiB`)
    }
  }
  await server.stop()
  const quarter = Math.floor(rounds / 4)
  const [early, late] = [median(memory.slice(quarter, 2 * quarter)), median(memory.slice(-quarter))]
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  print(
    `${calls.toLocaleString('en')} signed calls and ${rounds * grantsPerRound} grants in ${seconds} s: ` +
      `${early.toFixed(0)} MiB in the second quarter, ${late.toFixed(0)} MiB in the last (wanted: at most ${allowedGrowth} times as much)`,
  )
  return late <= early * allowedGrowth
}

/** Each kind of caller attacks three times: the memory after the third round against that after the first. */
async function soakWithCallers(): Promise<boolean> {
  const server = await startServer()
  const request = basicRequest(root)
  let isFlat = true
  for (const { name, attack } of hostileCallers) {
    const peaks: number[] = []
    const after: number[] = []
    let outcome = ''
    for (let round = 0; round < 3; round += 1) {
      let peak = 0
      const watch = setInterval(() => {
        peak = Math.max(peak, residentMiB(server))
      }, 250)
      outcome = await attack(server.port, request)
      clearInterval(watch)
      await new Promise((resolve) => setTimeout(resolve, 500))
      peaks.push(peak)
      after.push(residentMiB(server))
    }
    const [first = 0, , last = 0] = after
    const peak = Math.max(...peaks)
    const grows = last > Math.max(first * allowedGrowth, first + warmUpMiB) || peak > mostMiB
    if (grows) isFlat = false
    print(
      `${grows ? '✗' : '✓'} ${name}: ${outcome}; at most ${peak.toFixed(0)} MiB, after each round ${after.map((one) => one.toFixed(0)).join(', ')} MiB`,
    )
  }
  await server.stop()
  return isFlat
}

/** Moves the server's clock; gives its new time. */
async function advance({ line }: Started, ms: number): Promise<number> {
  const { controlUrl, controlToken } = JSON.parse(line)
  const answer = await fetch(`${controlUrl}/clock/advance`, {
    method: 'POST',
    headers: { authorization: `Bearer ${controlToken}` },
    body: JSON.stringify({ ms }),
  })
  const { nowMs } = (await answer.json()) as { nowMs: number }
  return nowMs
}

function residentMiB({ process: { pid } }: Started): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

/** Callers that try to exhaust a server. Each is repeated: memory that one round leaves occupied shows in the next one. */
interface Callers {
  name: string
  /** Attacks the server at `port` once, and describes the result. */
  attack(port: number, request: Buffer): Promise<string>
}

const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'
const head = (...lines: string[]): string => `POST /api HTTP/1.1\r\nHost: soak\r\n${lines.join('\r\n')}\r\n\r\n`
/** Its server ends a request after 30 s. */
const beyondRequestMs = 36_000

const hostileCallers: readonly Callers[] = [
  {
    name: '2,000 callers that send a byte a second',
    attack: async (port) => {
      const sockets = await open(port, 2000)
      let cut = 0
      for (const socket of sockets) socket.once('close', () => (cut += 1)).write('POST /api HTTP/1.1\r\nx: ')
      const drip = setInterval(() => {
        for (const socket of sockets) if (socket.writable) socket.write('y')
      }, 1000)
      await wait(beyondRequestMs)
      clearInterval(drip)
      close(sockets)
      return `${cut} cut off within ${beyondRequestMs / 1000} s`
    },
  },
  {
    name: '2,000 callers that end in the middle of a body',
    attack: async (port) => {
      const sockets = await open(port, 2000)
      let ended = 0
      for (const socket of sockets) {
        socket.once('close', () => (ended += 1)).resume()
        socket.end(head('Content-Length: 1000') + body)
      }
      await wait(3000)
      close(sockets)
      return `${ended} closed within 3 s`
    },
  },
  {
    name: '100 callers with 1,000 calls in one write',
    attack: async (port, request) => {
      const sockets = await open(port, 100)
      const bytes = await Promise.all(sockets.map((socket) => readAll(socket, request, 1000)))
      close(sockets)
      return `${Math.round(bytes.reduce((sum, one) => sum + one, 0) / 2 ** 20)} MiB of answers`
    },
  },
  {
    name: '100 callers with 10,000 calls that read no answer',
    attack: async (port, request) => {
      const sockets = await open(port, 100)
      for (const socket of sockets) {
        socket.pause()
        for (let sent = 0; sent < 100; sent += 1) socket.write(Buffer.concat(Array(100).fill(request)))
      }
      await wait(4000)
      const unsent = sockets.reduce((sum, socket) => sum + socket.writableLength, 0)
      close(sockets)
      return `${Math.round(unsent / 2 ** 20)} MiB of them never taken`
    },
  },
  {
    name: '9,900 idle callers',
    attack: async (port, request) => {
      const sockets = await open(port, 9900)
      for (const socket of sockets) socket.resume().write(request)
      await wait(4000)
      const begunMs = performance.now()
      const [one] = await open(port, 1)
      if (one !== undefined) await readAll(one, request, 1)
      const tookMs = performance.now() - begunMs
      close([...sockets, ...(one === undefined ? [] : [one])])
      return `one more call took ${tookMs.toFixed(0)} ms`
    },
  },
  {
    name: '5,000 calls with headers of 64 KiB',
    attack: async (port) => {
      const request = head(`X-Large: ${'x'.repeat(64 * 1024)}`, `Content-Length: ${body.length}`) + body
      const statuses = new Map<string, number>()
      for (let sent = 0; sent < 5000; sent += 50) {
        const answers = (await open(port, 50)).map((socket) => firstLine(socket, request))
        for (const status of await Promise.all(answers)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
      return [...statuses].map(([status, count]) => `${count} ${status}`).join(', ')
    },
  },
]

function open(port: number, count: number): Promise<Socket[]> {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket.on('error', () => {})))
          socket.once('error', reject)
        }),
    ),
  )
}

function close(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy()
}

const beginOfAnswer = 'HTTP/1.1 '

/** Sends several copies of a request in one write, and reads until every answer has arrived. */
function readAll(socket: Socket, request: Buffer, times: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    let answers = 0
    let tail = ''
    socket.on('close', () => reject(new Error(`The connection ended after ${answers} of ${times} answers`)))
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      const text = tail + chunk.toString('latin1')
      answers += text.split(beginOfAnswer).length - 1
      // The end of a chunk may cut it in two.
      tail = text.slice(1 - beginOfAnswer.length)
      if (answers >= times) {
        socket.removeAllListeners('close')
        resolve(bytes)
      }
    })
    socket.write(Buffer.concat(Array(times).fill(request)))
  })
}

/** The status of the answer, or `none`. */
function firstLine(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const settle = (): void => {
      socket.destroy()
      resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'without an answer')
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.includes('\r\n')) settle()
    })
    socket.on('close', settle)
    socket.write(request)
  })
}
