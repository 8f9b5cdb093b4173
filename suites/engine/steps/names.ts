import type { Row } from '../fixture/model.ts'
import type { Seat } from '../seat.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { publicKeyToPem } from '../signer/pem.ts'
import type { Credential } from './authorize.ts'
import { actor, credentialFor } from './call.ts'
import type { Names } from './references.ts'
import { lifeBeyondRefreshMs, suitableLifeMs } from './wait.ts'

/** The built-in names of a row (fixtures/README.md); `beyond` and `created` are read when they are used. */
export function builtInNames(seat: Seat, row: Row, members: Iterable<string>, attempt: number): Names {
  const { settings } = seat.instance
  const names: Names = {
    row: row.values,
    life: suitableLifeMs(seat, attempt),
    apikey: settings.scopeNames.apikey ?? seat.knowledge.apikey,
    solutions: settings.solutions,
    client: { address: seat.knowledge.clientAddress },
    second: { address: seat.knowledge.secondAddress },
    unique: `${seat.run.unique}${attempt === 0 ? '' : `-${attempt}`}`,
    get beyond() {
      return lifeBeyondRefreshMs(seat)
    },
    get created() {
      return [...seat.ledger.keys]
    },
  }
  for (const member of members) {
    names[member] = withPublicKey(credentialFor(seat, member === 'root' ? actor(seat, 'root') : member))
  }
  return names
}

/** `$bob.publicKey` is the PEM of his public key, computed only where a fixture asks for it. */
function withPublicKey(credential: Credential): Credential & { readonly publicKey?: string } {
  const { seed } = credential
  if (seed === undefined) return credential
  return {
    ...credential,
    get publicKey() {
      return publicKeyToPem(publicKeyOfSeed(seed))
    },
  }
}
