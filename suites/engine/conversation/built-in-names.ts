import type { Case, Scenario } from '../language/fixture-types.ts'
import type { Names } from '../language/resolve.ts'
import { derivedSecrets } from '../signer/derived-secrets.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { publicKeyToPem } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/short-name.ts'
import type { Credential } from './authorize.ts'
import type { Caller } from './caller.ts'
import { claimsOfCase } from './claims.ts'
import { actor, credentialFor } from './credential-of.ts'
import { lifeBeyondRefreshMs, suitableLifeMs } from './wait.ts'

/** The built-in names of a case (fixtures/README.md); `beyond` and `created` are read when they are used. */
export function builtInNames(
  caller: Caller,
  { scenario, testCase }: { scenario: Scenario; testCase: Case },
  members: Iterable<string>,
  attempt: number,
): Names {
  const { settings } = caller.instance
  const names: Names = {
    case: testCase.values,
    life: suitableLifeMs(caller, attempt, claimsOfCase(scenario, testCase).grants),
    apikey: settings.scopeNames.apikey ?? caller.facts.apikey,
    solutions: settings.solutions,
    probes: scopesOfProbes(settings.probes),
    client: { address: caller.facts.clientAddress },
    second: { address: caller.facts.secondAddress },
    elsewhere: addressesElsewhere(caller.facts.clientAddress, caller.facts.secondAddress),
    tiny: freshTinyText(caller),
    // Two cases that run at the same time must not use one name for two sessions.
    unique: shortName(`${caller.run.unique}-${caller.tries.next()}`, uniqueLength),
    get holder() {
      return holderOfOneSolution(caller)
    },
    get beyond() {
      return lifeBeyondRefreshMs(caller)
    },
    get created() {
      return [...caller.createdKeys.keys]
    },
  }
  for (const member of members) {
    names[member] = withPublicKey(credentialFor(caller, member === 'root' ? actor(caller, 'root') : member))
  }
  return names
}

/** The scope that each probe needs in addition to that of its area. */
function scopesOfProbes(probes: Caller['instance']['settings']['probes']): {
  [area: string]: { scope: readonly string[] }
} {
  return Object.fromEntries(Object.entries(probes).map(([area, { scope = [] }]) => [area, { scope }]))
}

/** Addresses from which no call of ours comes; the first three belong to networks for documentation (RFC 5737). */
function addressesElsewhere(own = '127.0.0.1', second = own): { [which: string]: string } {
  const [last = '1'] = own.split('.').slice(-1)
  const network = own.split('.').slice(0, 3).join('.')
  const choose = (...candidates: string[]): string =>
    candidates.find((address) => address !== own && address !== second && isAddress(address)) ?? '192.0.2.77'
  return {
    far: choose('203.0.113.7', '192.0.2.7'),
    farther: choose('198.51.100.255', '192.0.2.255'),
    alike: choose(`203.0.113.${last}`, `198.51.100.${last}`),
    neighbour: choose(`${network}.10`, `${network}.20`, `${network}.30`),
    longer: choose(`${own}11`, `${own}1`, `${network}.111`),
  }
}

const isAddress = (text: string): boolean => text.split('.').every((part) => Number(part) <= 255)

/** The key that requests the scope of one solution: one that was created with it, otherwise root. */
function holderOfOneSolution(caller: Caller): Credential {
  const [id] = caller.instance.settings.solutions
  const holder = [...caller.testKeyScopes].find(([, scope]) => scope.includes(`solution:${id}`))?.[0]
  return credentialFor(caller, holder ?? actor(caller, 'root'))
}

const tinyLetters = 'abcdefghijklmnopqrstuvwxyz'

/** Three letters: short, and unlikely to occur twice. */
function freshTinyText({ run }: Caller): string {
  return Array.from({ length: 3 }, () => tinyLetters[run.random.below(tinyLetters.length)]).join('')
}

/**
 * `$bob.publicKey` is the PEM of bob's public key, and `$bob.derived.sha256PemHex` bob's id with a secret that anyone can compute from it.
 * Both are computed only when a fixture uses them.
 */
function withPublicKey(
  credential: Credential,
): Credential & { readonly publicKey?: string; readonly derived?: object } {
  const { seed, id } = credential
  if (seed === undefined) return credential
  return {
    ...credential,
    get publicKey() {
      return publicKeyToPem(publicKeyOfSeed(seed))
    },
    get derived() {
      const secrets = Object.entries(derivedSecrets(publicKeyOfSeed(seed)))
      return Object.fromEntries(secrets.map(([name, secret]) => [name, { id, secret }]))
    },
  }
}
