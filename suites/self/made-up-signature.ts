import { type CheckFlags, readCheck, type Surroundings } from '../commands/signature.ts'
import { usageError } from '../engine/errors.ts'
import { utf8 } from '../engine/signer/bytes.ts'

/** The request of docs/lab.md, and its right header. */
export const body = '{"jsonrpc":"2.0","id":0,"method":"solution/listSolutions","params":{}}'
export const right = 'svc-hmac-sha256 hmac-key-1;1;1702555410352;q83vEjRWeJCrze8=;CEbcdnZhURk3xA0+RaC+UusqNCQ='

/** An environment, files and standard input, without the machine's. */
export const around = (files: { [path: string]: string } = {}, stdin: string | null = null): Surroundings => ({
  env: { SECRET: 'not-a-secret-0001', OTHER: 'other', EMPTY: '' },
  readFile(path, what) {
    const text = files[path]
    if (text === undefined) throw usageError(`Cannot read ${what} "${path}": there is no such file`)
    return utf8(text)
  },
  readStdin: () => (stdin === null ? null : utf8(stdin)),
})

export const env = (name: string) => ({ flag: 'secret-env' as const, name })
/** Reads the flags of `verify` and `diagnose`. */
export const check = (flags: CheckFlags, outside = around()) =>
  readCheck({ secrets: [env('SECRET')], ...flags }, outside)
/** The flags of `sign` for this request. */
export const flags = {
  method: 'POST',
  uri: '/api',
  scheme: 'svc-hmac-sha256',
  keyId: 'hmac-key-1',
  secrets: [env('SECRET')],
  body,
  url: 'http://h:1',
}
export const fresh = { nowMs: 1702555410352, nonce: 'q83vEjRWeJCrze8=' }
