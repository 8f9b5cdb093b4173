/** Writes the steps of a finding in the words of the fixture language: test keys stand for most keys, and `$pair` for what an exploration named. */
import { sessionLimit } from '../engine/document.ts'
import { alterOf } from '../engine/language/deviations.ts'
import { bodyForms, cutLetterForms } from '../engine/signer/bodies.ts'
import { type Json, type Change as PlainChange, wrapped } from '../engine/signer/changed-call.ts'
import { callsOf, madeBy, quietMs } from './sequences.ts'
import { type BurstStep, type CallStep, type Change, inDocumentOrder, namesIn, type Step } from './step.ts'

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

interface ScenarioKeys {
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

// Writes a step of a sequence as one step of a scenario.

export interface Names {
  get(name: string): Named | undefined
  /** Values of this target, and what stands for them. */
  readonly ofTarget: ReadonlyMap<string, string>
  /** The name of the connection of a call, if it matters. */
  connectionOf(step: CallStep): string | undefined
  /** Names of sessions that become shorter. */
  readonly sessions: ReadonlyMap<string, string>
  /** The headers that later steps send again. */
  readonly sentAgain: ReadonlySet<string>
}

/** What is expected, as YAML; a sentence for the reader. */
interface Said {
  readonly expect: string | null
  readonly title?: string
}

/** @param needs gets what the step needs */
export function stepText(step: Step, names: Names, needs: Set<string>, { expect, title }: Said): string {
  if (step.do === 'wait') return waitText(Math.ceil(step.ms))
  if (step.do === 'burst') return atOnce(step, names, needs)
  if (step.method === 'manager/auth') needs.add('sessions')
  if (step.method === 'manager/createApiKey') needs.add('keys')
  if (isFromSecond(step)) needs.add('second-address')
  const parts = [
    ...(title === undefined ? [] : [`step: ${quoted(title)}`]),
    ...(shortForm(step, names) ?? longForm(step, names)),
    ...connectionText(step, names),
    ...moreOf(step),
    ...(expect === null ? [] : [`expect: ${expect}`]),
    ...keepText(step, names),
  ]
  const text = `{ ${parts.join(', ')} }`
  if (text.includes('$solutions.')) needs.add('solutions')
  if (text.includes('$second.')) needs.add('second-address')
  return text
}

/** Calls at once: how many, where they are equal and nothing uses their results; otherwise one of them with the others beside it. */
function atOnce({ calls, on }: BurstStep, names: Names, needs: Set<string>): string {
  const isNamed = (as: string | undefined): as is string => as !== undefined && names.get(as) !== undefined
  const plain = calls.map(({ as: _as, connection: _connection, id: _id, ...call }) => call)
  const isEqual = plain.every((other) => JSON.stringify(other) === JSON.stringify(plain[0]))
  if (isEqual && calls.some(({ as }) => isNamed(as)))
    throw new Unsayable('which of equal calls at once is accepted is left to chance')
  const [first, ...others] = plain.map((call, at): CallStep => {
    const as = calls[at]?.as
    return isNamed(as) ? { ...call, as } : call
  })
  if (first === undefined) throw new Unsayable('there are no calls')
  const write = (call: CallStep): string => stepText(call, names, needs, { expect: null })
  const more = isEqual ? `parallel: ${calls.length}` : `beside: [${others.map(write).join(', ')}]`
  return write(first).replace(/ }$/, `, ${more}, connections: ${on} }`)
}

/** The grants of a crowd, whose results are kept as `$sessions`. */
export function crowdText({ calls: [first], calls, on }: BurstStep, names: Names, needs: Set<string>): string {
  if (first === undefined) throw new Unsayable('there are no calls')
  const { as: _as, params, ...grant } = inDocumentOrder(first)
  const scope = Array.isArray(params.scope) ? params.scope : []
  const words = scope.map((word) => (String(word).startsWith('session:') ? 'session:s$n$unique' : word))
  needs.add('limits')
  const text = stepText({ ...grant, params: { ...params, scope: words } }, names, needs, { expect: null })
  const more = `parallel: ${calls.length}, connections: ${on}, tally: { accepted: at-least 1 }, keep: { sessions: result }`
  return text.replace(/ }$/, `, ${more} }`)
}

/** Uses every session of a crowd: not more of them may live than the document says. */
export const crowdUses = `{ for: $sessions, call: solution/listSolutions, auth: { token: $it.accessToken }, tally: { accepted: at-most ${sessionLimit} } }`

/** Of simultaneous refreshes of one token at most one is accepted. What may come of other calls at once depends on the calls before. */
export function raceText(race: BurstStep, names: Names, needs: Set<string>): string {
  if (!race.calls.every(isRefresh))
    throw new Unsayable(
      'of calls at once a scenario can only count the accepted ones, and the document limits that number for refreshes alone',
    )
  const text = atOnce(race, names, needs)
  if (!text.includes(`parallel: ${race.calls.length},`))
    throw new Unsayable('of different calls at once a scenario can count nothing')
  return text.replace(/ }$/, ', tally: { accepted: at-most 1 } }')
}

export const isRefresh = ({ params }: Pick<CallStep, 'params'>): boolean => params.grantType === 'refresh_token'

/** `grant: alice, scope: […]` and `refresh: $pair`, which send the params in the order of the document. */
function shortForm({ method, auth, change, params }: CallStep, names: Names): string[] | null {
  if (method !== 'manager/auth' || auth.kind !== 'none' || change !== undefined) return null
  const order = Object.keys(params).join()
  const { grantType, apiKeyId, apiKeySecret, scope = null, refreshToken } = params
  if (order === 'grantType,refreshToken' && grantType === 'refresh_token') {
    const [, pair] = /^\$([\w-]+)\.refreshToken$/.exec(String(refreshToken)) ?? []
    return pair === undefined ? null : [`refresh: $${named(pair, names).name}`]
  }
  if (order !== 'grantType,apiKeyId,apiKeySecret,scope' || grantType !== 'api_key_credentials') return null
  const [, who] = /^\$([\w-]+)\.id$/.exec(String(apiKeyId)) ?? []
  if (who === undefined || apiKeySecret !== `$${who}.secret`) return null
  return [`grant: ${callerName(who, names)}`, `scope: ${valueText(scope, names)}`]
}

function longForm(step: CallStep, names: Names): string[] {
  const { params, change } = inParams(step)
  const written = Object.entries(params).map(([name, value]) => `${name}: ${valueText(value, names)}`)
  return [
    `call: ${step.method}`,
    `auth: ${authText(step, names)}`,
    ...alterText([...(change === undefined ? [] : [change]), ...(step.also ?? [])], names),
    ...(written.length === 0 ? [] : [`params: { ${written.join(', ')} }`]),
  ]
}

/** A changed param is written as it is sent, unless an operation makes it from the right one. */
function inParams({ params, change }: CallStep): Pick<CallStep, 'params' | 'change'> {
  const [, name] = /^param (.+)$/.exec(change?.field ?? '') ?? []
  if (change === undefined) return { params }
  if (name === undefined || change.operation !== undefined) return { params, change }
  const { [name]: right, ...others } = params
  // The suite writes scopes in the spelling of the target, and takes a list in a list for one.
  if (name === 'scope') return { params, change }
  if (change.remove === true) return { params: others }
  const value = change.wrap === undefined ? (change.place ?? change.value ?? null) : wrapped(right, change.wrap)
  return { params: { ...params, [name]: value } }
}

function alterText(changes: readonly Change[], names: Names): string[] {
  const entries = changes.map(({ place, ...change }) => {
    const plain: PlainChange = place === undefined ? change : { ...change, value: place }
    const [[part, said] = ['', '']] = Object.entries(alterOf(plain))
    const name = /^[a-z-]+$/.test(part) ? part : quoted(part)
    if (typeof said === 'string') return `${name}: ${said}`
    return `${name}: { value: ${valueText((said as { value: Json }).value, names)} }`
  })
  return entries.length === 0 ? [] : [`alter: { ${entries.join(', ')} }`]
}

function connectionText(step: CallStep, { connectionOf }: Names): string[] {
  const name = connectionOf(step)
  return name === undefined ? [] : [`connection: ${name}`]
}

const isFromSecond = ({ from }: CallStep): boolean => from === 'second-address'

function moreOf(step: CallStep): string[] {
  const { from = 'first-address', inChunks, form, nonce, id } = step
  if (from !== 'first-address' && !isFromSecond(step)) throw new Unsayable('it needs a third address')
  return [
    ...(isFromSecond(step) ? ['from: second-address'] : []),
    ...(inChunks === true ? ['headers: { transfer-encoding: chunked }'] : []),
    ...(nonce === undefined ? [] : [`nonce: ${nonce}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(typeof form === 'number' ? [`body: { size: ${form} }`] : []),
    ...(typeof form === 'string' ? [`body: ${bodyWord(form)}`] : []),
  ]
}

function bodyWord(form: string): string {
  if (!Object.hasOwn(bodyForms, form) && !Object.hasOwn(cutLetterForms, form))
    throw new Unsayable(`the fixture language has no word for the body form ${form}`)
  return form
}

function keepText({ as }: CallStep, names: Names): string[] {
  if (as === undefined) return []
  const { name } = names.get(as) ?? { name: as }
  const header = names.sentAgain.has(as) ? [`${name}-header: sent.header`, `${name}-signature: sent.signature`] : []
  return [`keep: { ${[`${name}: result`, ...header].join(', ')} }`]
}

function authText({ auth }: CallStep, names: Names): string {
  switch (auth.kind) {
    case 'none':
      return 'none'
    case 'header':
      return `{ header: ${quoted(renamed(auth.header, names))} }`
    case 'token':
      return `{ token: ${quoted(renamed(auth.token, names))} }`
    case 'ecc': {
      const { name, isTestKey, signsAs } = named(auth.who, names)
      if (signsAs === undefined) throw new Unsayable(`nobody knows the private key of ${auth.who}`)
      return isTestKey === true ? `{ ecc: ${name} }` : `{ ecc: ${signsAs}, but: { key-id: $${name}.id } }`
    }
    default:
      return `{ ${auth.kind}: ${callerName(auth.who, names)} }`
  }
}

function named(name: string, names: Names): Named {
  const known = names.get(name)
  if (known === undefined) throw new Unsayable(`what ${name} is rests on calls before these steps`)
  return known
}

/** Why such a pause is made is not seen from the steps. */
const waitText = (ms: number): string =>
  `{ wait: ${ms}ms }${ms === quietMs ? ' # a server may note the age of a session in whole seconds' : ''}`

/** A test key by its name; a key that the scenario creates by a reference. */
function callerName(who: string, names: Names): string {
  const { name, isTestKey } = named(who, names)
  return isTestKey === true ? name : `$${name}`
}

/** In place of digits that belong to one exploration. */
const digits = '4711'

function renamed(text: string, names: Names): string {
  // A letter behind `$unique` would belong to the name.
  const braced = `\${unique}`
  const named = (names.sessions.get(text) ?? text)
    .replace(/\$unique(?=-?\w)/g, () => braced)
    .replace(/\$([A-Za-z][\w-]*)((?:\.\w+)*)/g, (whole, name: string, path: string) =>
      nameText(whole, name, path, names),
    )
  return ofAnyTarget(named, names)
}

/** The text with references in place of the values of this target. */
export const ofAnyTarget = (text: string, { ofTarget }: Names): string =>
  [...ofTarget].reduce((all, [value, reference]) => all.replace(wholeText(value), () => reference), text)

/** An address may begin with another one. */
const wholeText = (value: string): RegExp =>
  new RegExp(`(?<![\\w.])${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w.:])`, 'g')

function nameText(whole: string, name: string, path: string, names: Names): string {
  if (/^(unique\b|n$)/.test(name)) return whole
  if (name === 'digits') return digits
  const known = named(ownerOf(name), names)
  if (path === '.publicKey') return `$${known.signsAs ?? known.name}${path}`
  if (path === '.name' && known.label !== undefined) return known.label
  if (path === '.header' || path === '.signature') return `$${known.name}-${path.slice(1)}`
  return `$${known.name}${path}`
}

function valueText(value: Json, names: Names): string {
  if (typeof value === 'string') return quoted(renamed(value, names))
  if (Array.isArray(value)) return `[${value.map((item: Json) => valueText(item, names)).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([name, item]) => `${quoted(name)}: ${valueText(item, names)}`)
  return `{ ${members.join(', ')} }`
}

/** JSON texts are YAML texts. */
export const quoted = (text: string): string => JSON.stringify(text)
