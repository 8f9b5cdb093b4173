/** Calls that create nothing: envelopes, signatures, Basic. */
import {
  type Authorize,
  basic,
  bodyWith,
  type Call,
  type Caller,
  freshNonce,
  freshWord,
  type SignatureOptions,
  signed,
  token,
  withWrongSignature,
} from '../facts/caller.ts'
import type { Memory, SessionCall } from './memory.ts'

const plain = (name: string, what: (caller: Caller) => Call): SessionCall => ({
  name,
  needs: null,
  make: (caller) => caller.call(what(caller)),
})

const signedBody = (name: string, body: string): SessionCall =>
  plain(name, (caller) => ({ auth: signed(caller), body }))

const withSignature = (name: string, options: SignatureOptions): SessionCall =>
  plain(name, (caller) => ({ auth: signed(caller, options) }))

const minute = 60_000
const offsets = [10_000, 2 * minute, 20 * minute, 60 * minute].flatMap((ms) => [-ms, ms])
const nonceLengths = [8, 20, 60, 100, 300]

const timestamps = offsets.map((ms) =>
  plain(`signature, timestamp ${ms / 1000} s off`, (caller) => ({
    auth: signed(caller, { timestampMs: caller.serverNowMs() + ms }),
  })),
)

const nonces = nonceLengths.map((length) =>
  plain(`signature, nonce of ${length} characters`, (caller) => ({
    auth: signed(caller, {
      nonce: freshWord(caller.random).padStart(length, 'n').slice(-length),
    }),
  })),
)

const withNonce = (caller: Caller, memory: Memory): Authorize => {
  memory.lastNonce = freshNonce(caller.random)
  return signed(caller, { nonce: memory.lastNonce })
}

/** Calls that use a nonce twice. */
const repeated: readonly SessionCall[] = [
  {
    name: 'signature, a nonce that will be used again',
    needs: null,
    make: (caller, memory) => caller.call({ auth: withNonce(caller, memory) }),
  },
  {
    name: 'signature, the nonce used before',
    needs: null,
    make: async (caller, memory) => {
      if (memory.lastNonce === '') await caller.call({ auth: withNonce(caller, memory) })
      return caller.call({ auth: signed(caller, { nonce: memory.lastNonce }) })
    },
  },
  {
    name: 'signature, a nonce that a wrong signature had',
    needs: null,
    make: async (caller) => {
      const nonce = freshNonce(caller.random)
      await caller.call({ auth: signed(caller, { nonce, change: withWrongSignature }) })
      return caller.call({ auth: signed(caller, { nonce }) })
    },
  },
]

const noSuchMethod = 'solution/svcNoSuchMethod'

export const plainCalls: readonly SessionCall[] = [
  plain('Basic', (caller) => ({ auth: basic(caller) })),
  withSignature('signature', {}),
  ...timestamps,
  ...nonces,
  ...repeated,
  withSignature('signature, wrong', { change: withWrongSignature }),
  withSignature('signature, unknown key', { keyId: 'svc-no-such-key' }),
  withSignature('signature without base64 padding', { change: (header) => header.replace(/=+$/, '') }),
  withSignature('signature, a further field', { change: (header) => `${header};x` }),
  plain('signature, header nonce without padding', (caller) => {
    const headerNonce = freshNonce(caller.random).slice(0, 22)
    return { auth: signed(caller, { nonce: `${headerNonce}==`, headerNonce }) }
  }),
  plain('signature, scheme word in upper case', (caller) => ({
    auth: signed(caller, { scheme: caller.instance.settings.scheme.toUpperCase() }),
  })),
  plain('no authorization', () => ({})),
  plain('unknown scheme word', () => ({ auth: () => 'SvcNoSuchScheme x' })),
  plain('junk token', (caller) => ({ auth: token(caller, 'svc-no-such-token') })),
  plain('Basic, wrong secret', (caller) => ({ auth: basic(caller, { secret: 'svc-wrong-secret' }) })),
  plain('Basic, unknown key', (caller) => ({ auth: basic(caller, { id: 'svc-no-such-key' }) })),
  plain('Basic in lower case', (caller) => ({ auth: basic(caller, { word: 'basic' }) })),
  plain('unknown method', (caller) => ({ auth: signed(caller), method: noSuchMethod })),
  plain('unknown method, no authorization', () => ({ method: noSuchMethod })),
  plain('a further param', (caller) => ({ auth: signed(caller), params: { extra: 1 } })),
  plain('a further param, no authorization', () => ({ params: { extra: 1 } })),
  plain('createApiKey without params', (caller) => ({ auth: signed(caller), method: 'manager/createApiKey' })),
  plain('Content-Type text/plain', (caller) => ({ auth: signed(caller), headers: [['content-type', 'text/plain']] })),
  signedBody('jsonrpc "1.0"', bodyWith({ jsonrpc: '1.0' })),
  signedBody('params as an array', bodyWith({ params: [] })),
  signedBody('a string as id', bodyWith({ id: 'eight' })),
  signedBody('null as id', bodyWith({ id: null })),
  signedBody('a boolean as id', bodyWith({ id: true })),
  signedBody('no id', bodyWith({ id: undefined })),
  signedBody('a batch', `[${bodyWith({})}]`),
  signedBody('a further member', bodyWith({ extra: 1 })),
  signedBody('not JSON', '{"jsonrpc":'),
  signedBody('an empty body', ' '),
  signedBody('a body of 100 KiB', bodyWith({}).padEnd(100 * 1024)),
]
