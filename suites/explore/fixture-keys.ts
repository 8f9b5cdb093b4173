/** The keys of a scenario: test keys stand for most; the scenario creates the others in the way of the exploration. */
import type { Json } from '../engine/signer/changed-call.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { callsOf, madeBy } from './whole-sequence.ts'

/** Thrown where the fixture language has no word; the message says for what. */
export class Unsayable extends Error {}

/** A key, or a pair of tokens, in the words of a scenario. */
export interface Named {
  /** Without the dollar. */
  readonly name: string
  readonly isTestKey?: boolean
  /** Of a key with a public key: the test key whose private key it has. */
  readonly signsAs?: string
  /** Of a key that the scenario creates: the name that it is given. */
  readonly label?: string
  readonly listsSolutions?: boolean
}

export interface ScenarioKeys {
  readonly named: ReadonlyMap<string, Named>
  /** The steps that create those which no test key stands for. */
  readonly creations: readonly Step[]
}

/** The calls that make a key; none where nobody knows them. */
export type CreationOf = (key: string) => readonly Step[]

const root = { name: 'root', isTestKey: true, listsSolutions: true }

/** The test keys that stand for keys which are created in the same way. */
const standIns: { readonly [key: string]: Named } = {
  'by-ecc': { name: 'erin', isTestKey: true, listsSolutions: true },
  'ecc-a': { name: 'bob', isTestKey: true, signsAs: 'bob', listsSolutions: true },
  'context-key': { name: 'dave', isTestKey: true },
}

/** `ecc-a-own.publicKey` belongs to `ecc-a`. */
export const ownerOf = (name: string): string => name.replace(/-own$/, '')

const keysIn = (step: Step, creationOf: CreationOf): string[] =>
  [...new Set(namesIn(step).map(ownerOf))].filter((key) => key in standIns || creationOf(key).length > 0)

/** Test keys have names of their own, so that they stand for no two keys that may have one name. */
export function keysOfScenario(steps: readonly Step[], creationOf: CreationOf): ScenarioKeys {
  // A key that the steps create is there already.
  const own = new Set(steps.flatMap(madeBy))
  const wanted = [...new Set(steps.flatMap((step) => keysIn(step, creationOf)))].filter((key) => !own.has(key))
  const isAlone = wanted.length < 2
  const named = new Map<string, Named>([['root', root]])
  const creations: Step[] = []
  const take = (key: string, mayStandIn: boolean): void => {
    if (named.has(key)) return
    const standIn = standIns[key]
    const made = creationOf(key)
    if (standIn !== undefined && (mayStandIn || made.length === 0)) return void named.set(key, standIn)
    for (const step of made) {
      for (const other of keysIn(step, creationOf)) if (other !== key) take(other, true)
      if (!creations.includes(step)) creations.push(step)
    }
    const creation = made.flatMap(callsOf).find(({ as }) => as === key)
    if (creation !== undefined) named.set(key, createdKey(creation, named))
  }
  for (const key of wanted) take(key, isAlone)
  return { named, creations: creations.flatMap((step) => plainCreation(step, named)) }
}

/** The test keys with a public key; a scenario knows no other private keys. */
const owners = ['bob', 'carol']

function createdKey({ as = '', params }: CallStep, named: ReadonlyMap<string, Named>): Named {
  const listsSolutions = JSON.stringify(params.scope).includes('"solution"')
  const key = { name: keyName(named), label: labelOf(params.name ?? as, named), listsSolutions }
  if (params.publicKey === undefined) return key
  return { ...key, signsAs: freeOwner([...named.values()]) }
}

/** A test key with a public key that stands for no other key. @throws Unsayable */
export function freeOwner(named: readonly Named[]): string {
  const owner = owners.find((one) => named.every(({ signsAs }) => signsAs !== one))
  if (owner === undefined) throw new Unsayable('there is no third test key with a private key')
  return owner
}

/** `key`, `key-2`, … in the order in which they are created. */
function keyName(named: ReadonlyMap<string, Named>): string {
  const count = [...named.values()].filter(({ label }) => label !== undefined).length
  return count === 0 ? 'key' : `key-${count + 1}`
}

/** Some keys get the name of another on purpose. */
function labelOf(name: Json, named: ReadonlyMap<string, Named>): string {
  const [, other] = /^\$([\w-]+)\.name$/.exec(String(name)) ?? []
  return other === undefined ? String(name) : (named.get(other)?.label ?? `${other}-$unique`)
}

/** The id of the explorer's creation means nothing, and of creations at once each is made alone. */
function plainCreation(step: Step, named: ReadonlyMap<string, Named>): Step[] {
  if (!callsOf(step).some(({ method }) => method === 'manager/createApiKey'))
    return [step.do === 'call' ? { ...step, connection: 'new' } : step]
  return callsOf(step).flatMap(({ id: _id, connection: _connection, ...call }) => {
    const label = named.get(madeBy(call)[0] ?? '')?.label
    return label === undefined ? [] : [{ ...call, connection: 'new' as const, params: { ...call.params, name: label } }]
  })
}
