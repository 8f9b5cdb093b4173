/** Calls of a session that leave nothing behind: envelopes, signatures, Basic. */
import {
  type Ask,
  type Asker,
  type Authorize,
  basic,
  freshNonce,
  type SignatureOptions,
  signed,
  token,
} from '../facts/asker.ts'
import type { Memory, SessionCall } from './memory.ts'

const plain = (name: string, what: (asker: Asker) => Ask): SessionCall => ({
  name,
  needs: null,
  ask: (asker) => asker.ask(what(asker)),
})

const envelope = (members: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 8001, method: 'solution/listSolutions', params: {}, ...members })

const signedBody = (name: string, body: string): SessionCall => plain(name, (asker) => ({ auth: signed(asker), body }))

const withSignature = (name: string, options: SignatureOptions): SessionCall =>
  plain(name, (asker) => ({ auth: signed(asker, options) }))

const minute = 60_000
const offsets = [10_000, 2 * minute, 20 * minute, 60 * minute].flatMap((ms) => [-ms, ms])
const nonceLengths = [8, 20, 60, 100, 300]

const timestamps = offsets.map((ms) =>
  plain(`signature, timestamp ${ms / 1000} s off`, (asker) => ({
    auth: signed(asker, { timestampMs: asker.serverNowMs() + ms }),
  })),
)

const nonces = nonceLengths.map((length) =>
  plain(`signature, nonce of ${length} characters`, (asker) => ({
    auth: signed(asker, {
      nonce: freshNonce(asker.random).replaceAll(/\W/g, 'x').padStart(length, 'n').slice(-length),
    }),
  })),
)

const withNonce = (asker: Asker, memory: Memory): Authorize => {
  memory.lastNonce = freshNonce(asker.random)
  return signed(asker, { nonce: memory.lastNonce })
}

/** Two calls of the kinds that follow one another often enough in a session. */
const repeated: readonly SessionCall[] = [
  {
    name: 'signature, a nonce that will be used again',
    needs: null,
    ask: (asker, memory) => asker.ask({ auth: withNonce(asker, memory) }),
  },
  {
    name: 'signature, the nonce used before',
    needs: null,
    ask: async (asker, memory) => {
      if (memory.lastNonce === '') await asker.ask({ auth: withNonce(asker, memory) })
      return asker.ask({ auth: signed(asker, { nonce: memory.lastNonce }) })
    },
  },
  {
    name: 'signature, a nonce that a wrong signature had',
    needs: null,
    ask: async (asker) => {
      const nonce = freshNonce(asker.random)
      await asker.ask({ auth: signed(asker, { nonce, change: (header) => `${header.slice(0, -8)}AAAAAAA=` }) })
      return asker.ask({ auth: signed(asker, { nonce }) })
    },
  },
]

const noSuchMethod = 'solution/svcNoSuchMethod'

export const plainCalls: readonly SessionCall[] = [
  plain('Basic', (asker) => ({ auth: basic(asker) })),
  withSignature('signature', {}),
  ...timestamps,
  ...nonces,
  ...repeated,
  withSignature('signature, wrong', { change: (header) => `${header.slice(0, -8)}AAAAAAA=` }),
  withSignature('signature, unknown key', { keyId: 'svc-no-such-key' }),
  withSignature('signature without base64 padding', { change: (header) => header.replace(/=+$/, '') }),
  withSignature('signature, a further field', { change: (header) => `${header};x` }),
  plain('signature, header nonce without padding', (asker) => {
    const headerNonce = freshNonce(asker.random).slice(0, 22)
    return { auth: signed(asker, { nonce: `${headerNonce}==`, headerNonce }) }
  }),
  plain('signature, scheme word in upper case', (asker) => ({
    auth: signed(asker, { scheme: asker.instance.settings.scheme.toUpperCase() }),
  })),
  plain('no authorization', () => ({})),
  plain('unknown scheme word', () => ({ auth: () => 'SvcNoSuchScheme x' })),
  plain('junk token', (asker) => ({ auth: token(asker, 'svc-no-such-token') })),
  plain('Basic, wrong secret', (asker) => ({ auth: basic(asker, { secret: 'svc-wrong-secret' }) })),
  plain('Basic, unknown key', (asker) => ({ auth: basic(asker, { id: 'svc-no-such-key' }) })),
  plain('Basic in lower case', (asker) => ({ auth: basic(asker, { word: 'basic' }) })),
  plain('unknown method', (asker) => ({ auth: signed(asker), method: noSuchMethod })),
  plain('unknown method, no authorization', () => ({ method: noSuchMethod })),
  plain('a further param', (asker) => ({ auth: signed(asker), params: { extra: 1 } })),
  plain('a further param, no authorization', () => ({ params: { extra: 1 } })),
  plain('createApiKey without params', (asker) => ({ auth: signed(asker), method: 'manager/createApiKey' })),
  plain('Content-Type text/plain', (asker) => ({ auth: signed(asker), headers: [['content-type', 'text/plain']] })),
  signedBody('jsonrpc "1.0"', envelope({ jsonrpc: '1.0' })),
  signedBody('params as an array', envelope({ params: [] })),
  signedBody('a string as id', envelope({ id: 'eight' })),
  signedBody('null as id', envelope({ id: null })),
  signedBody('a boolean as id', envelope({ id: true })),
  signedBody('no id', envelope({ id: undefined })),
  signedBody('a batch', `[${envelope({})}]`),
  signedBody('a further member', envelope({ extra: 1 })),
  signedBody('not JSON', '{"jsonrpc":'),
  signedBody('an empty body', ' '),
  signedBody('a body of 100 KiB', envelope({}).padEnd(100 * 1024)),
]
