/** Clients that read answers wrongly. */
import { setTimeout as sleep } from 'node:timers/promises'
import { clientOf, defaultParts, parseObject } from '../core.mjs'

/** Reads the body of a call in its own way, and that of `manager/auth` rightly. */
const readsCalls = (readCall) => ({
  readBody: (answer, id, request) =>
    (request.purpose === 'call' ? readCall(answer, id) : undefined) ?? defaultParts.readBody(answer, id),
})

/** Checks the ids of answers in its own way. */
const checksIds = (isOwn) => ({
  readBody(answer, id) {
    const message = parseObject(answer.text)
    return defaultParts.readBody(answer, isOwn(message?.id, id) ? message?.id : id)
  },
})

/** Does something when an answer is not JSON. */
const onMalformed = (act) => ({
  async exchange(client, wire) {
    const answer = await defaultParts.exchange(client, wire)
    if (answer.status === 200 && parseObject(answer.text) === undefined) await act()
    return answer
  },
})

const defect = (message) => Object.assign(new Error(message), { isDefect: true })
const auth = ['hmac', 'token']
const errorIn200 = clientOf(auth, 'answers/error-in-200', readsCalls)
const foreignId = clientOf(auth, 'answers/foreign-id-rejected', checksIds)
const malformed = clientOf(auth, 'answers/malformed-survived')
const leftAtMalformed = clientOf(auth, 'answers/malformed-survived', onMalformed)
const readsMalformed = clientOf(auth, 'answers/malformed-survived', readsCalls)

export const answerClients = [
  errorIn200('status-is-all', 'Takes every answer with HTTP 200 for a success', ({ status }) =>
    status === 200 ? { kind: 'accepted', result: {} } : undefined,
  ),
  errorIn200('json-is-all', 'Takes every answer with JSON for a success', ({ text }, id) =>
    parseObject(text)?.id === id ? { kind: 'accepted', result: {} } : undefined,
  ),
  errorIn200(
    'only-known-codes-are-errors',
    'Takes an error for a success unless its code is one of JSON-RPC itself',
    ({ text }, id) => {
      const message = parseObject(text)
      const isReserved = message?.error?.code <= -32000
      return message?.error && message.id === id && !isReserved ? { kind: 'accepted', result: {} } : undefined
    },
  ),

  foreignId('answer-id-not-read', 'Never reads the id of an answer', (id) => id !== undefined),
  foreignId('answer-id-of-any-number', 'Takes every number for the id', (id) => typeof id === 'number'),
  foreignId('answer-id-not-older', 'Takes every id that is not older than its own', (id, own) => id >= own),

  // The check of the plain scenario: the answer is thrown away although nothing is wrong with it.
  clientOf(['hmac', 'basic'], 'request/envelope')(
    'id-zero-rejected',
    'Counts its ids from 0, and takes an answer with the id 0 for one without',
    {
      nextId: (client) => client.lastId++,
      readBody: (answer, id) => (id === 0 ? { kind: 'refused', reason: 'No id' } : defaultParts.readBody(answer, id)),
    },
  ),

  malformed('malformed-crashes', 'Crashes when an answer is not JSON', {
    readBody: (answer, id) => {
      if (parseObject(answer.text) === undefined) throw defect('Unexpected end of JSON input')
      return defaultParts.readBody(answer, id)
    },
  }),
  leftAtMalformed('malformed-hangs', 'Waits for ever when an answer is not JSON', () => sleep(3_600_000)),
  readsMalformed('malformed-is-ok', 'Takes an answer that is not JSON for a success', ({ status, text }) =>
    status === 200 && parseObject(text) === undefined ? { kind: 'accepted', result: {} } : undefined,
  ),
  leftAtMalformed('malformed-ends-calls', 'Makes no further call after an answer that is not JSON', () =>
    process.exit(0),
  ),
]
