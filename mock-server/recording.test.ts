import { Agent, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHandler } from './handler.ts'
import { createHttpServer, createRecording, listenOn } from './http-server.ts'
import { type MockServer, startMockServer } from './start.ts'

const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

async function startRecorded(bytes = 1024 * 1024): Promise<MockServer> {
  const server = await startMockServer({ clock: 'virtual', recording: { bytes } })
  onTestFinished(() => server.close())
  return server
}

/** Sends the body and resolves when the answer, or the end of the connection, is here. */
function post(server: MockServer, agent: Agent | false, headers: { [name: string]: string } = {}): Promise<void> {
  return new Promise((resolve) => {
    const call = request(`${server.url}/api`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve())
    })
    call.on('error', () => resolve())
    call.end(body)
  })
}

const basic = ({ rootKey }: MockServer) => ({
  Authorization: `Basic ${Buffer.from(`${rootKey.id}:${rootKey.secret}`).toString('base64')}`,
})

test('a recording holds both sides of an exchange, its times and its connection', async () => {
  const server = await startRecorded()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  await post(server, agent, basic(server))
  await post(server, agent)
  await post(server, false)
  const [first, second, third] = server.recording?.exchanges() ?? []
  expect(first).toMatchObject({ number: 1, connection: 1, httpMethod: 'POST', target: '/api', bodyBytes: body.length })
  expect(first?.headers).toContainEqual(['Authorization', basic(server).Authorization])
  expect(String(first?.body)).toBe(body)
  expect(first?.answer?.status).toBe(200)
  expect(JSON.parse(first?.answer?.body ?? '')).toMatchObject({ id: 1, result: {} })
  expect([second?.stage, second?.connection, third?.connection]).toEqual(['authorization/none', 1, 2])
  const times = [first, second].flatMap((one) => [one?.startedMs, one?.receivedMs, one?.answeredMs, one?.deliveredMs])
  expect(times).toEqual([...times].sort((one, other) => Number(one) - Number(other)))
  expect(Math.abs(Number(first?.startedMs) - Date.now())).toBeLessThan(60_000)
})

test('a fault is named, and the answer before it is kept', async () => {
  const server = await startRecorded()
  server.faults.add({ fault: 'malformed' })
  await post(server, false, basic(server))
  server.faults.add({ fault: 'drop', when: 'after' })
  await post(server, false, basic(server))
  server.faults.add({ fault: 'throttle', retryAfterSeconds: 1 })
  await post(server, false)
  const [spoilt, dropped, throttled] = server.recording?.exchanges() ?? []
  expect(spoilt?.faults).toEqual(['malformed'])
  expect(spoilt?.answer?.unspoilt).toContain(spoilt?.answer?.body ?? '-')
  expect(dropped).toMatchObject({ faults: ['drop'], deliveredMs: null, answer: { status: 0, body: '' } })
  expect(JSON.parse(dropped?.answer?.unspoilt ?? '')).toMatchObject({ result: {} })
  expect(throttled).toMatchObject({ faults: ['throttle'], stage: 'fault/throttle', answer: { status: 429 } })
})

test('a full recording keeps the first exchanges and counts the others', async () => {
  const server = await startRecorded(2500)
  for (let call = 0; call < 5; call++) await post(server, false)
  const held = server.recording?.exchanges() ?? []
  expect(held.map(({ number }) => number)).toEqual(held.map((_, index) => index + 1))
  expect(held.length).toBeLessThan(5)
  expect(server.recording?.dropped).toBe(5 - held.length)
})

test('a request that never ends stays without an answer', async () => {
  const recording = createRecording(10_000)
  const { handle, context } = createHandler()
  const server = createHttpServer(handle, { bounds: context.bounds, maxBodyBytes: 1000, recording })
  await listenOn(server, 0, '127.0.0.1')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
  await new Promise((resolve) => server.once('request', resolve))
  socket.destroy()
  expect(recording.exchanges()).toMatchObject([{ receivedMs: null, answeredMs: null, answer: null }])
})
