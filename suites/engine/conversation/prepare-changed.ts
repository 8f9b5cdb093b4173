/** The bytes of a call with changed parts (`alter`), or with a nonce of a given kind. */

import { SuiteError } from '../errors.ts'
import { isObject } from '../json.ts'
import { readDeviations } from '../language/deviations.ts'
import type { Auth } from '../language/fixture-types.ts'
import { type Change, Unmakeable } from '../signer/change.ts'
import {
  type Caller as CallerOfCall,
  headerBytes,
  type Key,
  type Member,
  type WrittenCall,
  writeCall,
} from '../signer/changed-call.ts'
import { nonceOf } from '../signer/nonces.ts'
import type { CallSpec } from './call-spec.ts'
import type { Caller } from './caller.ts'
import { credentialFor } from './credential-of.ts'
import { UnusableValue } from './unusable-value.ts'
import { writeBody } from './write-body.ts'

interface ChangedCall {
  readonly header: string | undefined
  readonly body: Uint8Array<ArrayBuffer>
}

interface Now {
  readonly id: unknown
  /** On the server's clock, in ms. */
  readonly signedAtMs: number
  /** The word before a token. */
  readonly tokenWord: string
}

/** @throws SuiteError (`fixture`) where a change has nothing to change, @throws UnusableValue for a value from a server that is no credential */
export function prepareChanged(caller: Caller, spec: CallSpec, { id, signedAtMs, tokenWord }: Now): ChangedCall {
  const { scheme, signedUri } = caller.instance.settings
  const { random } = caller.run
  const nonces: string[] = []
  /** With the same nonces each time. */
  const written = (changes: readonly Change[]): WrittenCall => {
    let at = 0
    return writeCall(
      {
        method: spec.method,
        params: spec.params as { [name: string]: never },
        id: id as never,
        caller: callerOf(caller, spec.auth),
        nonce: spec.nonce,
        write: (members: Member[]) => writeBody(members, spec.form),
      },
      changes,
      {
        scheme,
        uri: signedUri,
        url: `${caller.instance.baseUrl}/api`,
        tokenWord,
        operations: readDeviations(),
        nextNonce: (kind) => {
          const nonce = nonces[at] ?? nonceOf(kind, random)
          nonces[at] = nonce
          at += 1
          return nonce
        },
        timestamp: () => Math.round(signedAtMs),
      },
    )
  }
  try {
    const { changes = [] } = spec
    const call = written(changes)
    const [unchanged] = call.idle
    if (unchanged !== undefined) throw new Unmakeable(`"${unchanged.field}" stays as it is`)
    if (changes.length > 0 && isSame(call, written([]))) throw new Unmakeable('what is sent stays as it is')
    const header = asSent(call.authorization)
    return { header: header === undefined ? undefined : headerBytes(header), body: new TextEncoder().encode(call.body) }
  } catch (error) {
    if (error instanceof Unmakeable) throw new SuiteError('fixture', `Cannot change this call: ${error.message}`)
    throw error
  }
}

const isSame = (one: WrittenCall, other: WrittenCall): boolean =>
  one.body === other.body && asSent(one.authorization) === asSent(other.authorization)

/** HTTP takes away white space at both ends of a header. */
const asSent = (header: string | undefined): string | undefined => header?.replace(/^[\t ]+|[\t ]+$/g, '')

function callerOf(caller: Caller, auth: Auth): CallerOfCall {
  if (auth === 'none') return { kind: 'none' }
  if ('header' in auth) return { kind: 'header', header: auth.header }
  if ('token' in auth) {
    if (typeof auth.token !== 'string') throw new UnusableValue('token', auth.token)
    return { kind: 'token', token: auth.token }
  }
  const [kind, who] = Object.entries(auth).find(([name]) => name !== 'but') ?? []
  const credential = credentialFor(caller, who)
  const key: Key = { ...credential, ...('but' in auth ? otherId(auth.but) : {}) }
  if (kind === 'basic' || kind === 'hmac' || kind === 'ecc') return { kind, key }
  return { kind: key.seed === undefined ? (caller.facts.keyWay ?? 'hmac') : 'ecc', key }
}

const otherId = (but: unknown): { id?: string } =>
  isObject(but) && typeof but['key-id'] === 'string' ? { id: but['key-id'] } : {}
