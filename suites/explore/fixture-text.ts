/** Writes a finding as a scenario, if the fixture language has words for it. */
import { mistakeGroups, mistakesByWord } from '../engine/fixture/words.ts'
import type { Outcome } from './replay.ts'
import { asRepeated, withOtherSessionsTogether } from './session-grants.ts'
import type { BurstStep, CallStep, Change, Json, Step } from './step.ts'

interface FixtureInput {
  readonly requirement: string
  /** The part of the document that says so. */
  readonly part: string
  readonly sentence: string
  readonly message: string
  readonly steps: readonly Step[]
  /** The outcome of each step. */
  readonly outcomes: readonly Outcome[]
  readonly expect: 'accepted' | 'refused'
}

/** The test keys that stand for the explorer's keys. */
const standIns: { readonly [name: string]: string } = {
  root: 'root',
  'by-basic': 'erin',
  'by-ecc': 'erin',
  'by-token': 'erin',
  'by-child': 'erin',
  'ecc-a': 'bob',
  'ecc-b': 'carol',
  'context-key': 'dave',
}

/** The words of fixtures for operations on texts. */
const words: { readonly [operation: string]: string } = {
  'inside-changed': 'lower-case-letter-changed',
  'late-changed': 'last-quarter-changed',
  'first-character-changed': 'first-character-changed',
  'first-half': 'first-half',
  'letter-behind': 'one-character-added',
  'without-last-character': 'last-character-dropped',
  'upper-case': 'upper-cased',
  'lower-case': 'lower-cased',
  empty: 'empty',
  doubled: 'doubled',
}

/** Thrown where the fixture language has no word. */
class Unsayable extends Error {}

/**
 * Whether the oldest session is the same one in every reading: the first created, the longest unused or the longest not refreshed. Otherwise the
 * finding rests on what the target showed before, and the steps alone would accuse servers of another reading.
 */
function isSameInEveryReading(steps: readonly Step[]): boolean {
  const made = steps.slice(0, -1).filter((step) => step.do !== 'wait')
  const named = made.flatMap((step) => {
    if (step.do !== 'call' || step.change !== undefined || step.params.grantType !== 'api_key_credentials') return []
    const [session] = /"session:[^"]+"/.exec(JSON.stringify(step.params.scope)) ?? []
    return session === undefined ? [] : [{ session, who: step.params.apiKeyId }]
  })
  const isNew = new Set(named.map(({ session }) => session)).size === made.length
  return isNew && new Set(named.map(({ who }) => who)).size === 1
}

/** @returns null where the language has no words for a step, or the steps prove the finding only on this target */
export function fixtureText(input: FixtureInput): string | null {
  const { steps } = input
  const last = steps.at(-1)
  if (last === undefined || last.do === 'wait') return null
  // The test keys are needed by other scenarios, so none may be disabled or deleted.
  if (input.requirement.startsWith('keys/can-be-')) return null
  if (input.requirement.startsWith('sessions/') && !isSameInEveryReading(steps)) return null
  const names = friendlyNames(steps)
  const needs = new Set<string>()
  try {
    const before = withOtherSessionsTogether(input)
      .slice(0, -1)
      .map(({ steps: [step, ...more], outcome }) => {
        const expect = expectedOf(outcome)
        if (more.length === 0) return line(step, names, needs, { expect })
        return line(asRepeated(step), names, needs, { expect }).replace('{ ', `{ repeat: ${more.length + 1}, `)
      })
    const title = 'control: the server accepts a right call'
    const given = [...before, line(controlFor(last, input.expect), names, needs, { expect: 'accepted', title })]
    const judged =
      last.do === 'burst' ? raceLine(last, names, needs) : line(last, names, needs, { expect: input.expect })
    return [
      `scenario: ${quoted(input.sentence)}`,
      `why: ${quoted(`Found by explore: ${input.message}. See part ${input.part} of the document.`)}`,
      `proves: [${input.requirement}]`,
      ...(needs.size > 0 ? [`needs: [${[...needs].sort().reverse().join(', ')}]`] : []),
      'given:',
      ...given.map((text) => `  - ${text}`),
      'steps:',
      `  - ${judged}`,
      '',
    ].join('\n')
  } catch (error) {
    if (error instanceof Unsayable) return null
    throw error
  }
}

/** A preparation demands acceptances only: what was refused on the way is asked, and not judged. */
function expectedOf(outcome: Outcome = 'accepted'): 'accepted' | null {
  if (outcome === 'broken') throw new Unsayable()
  return outcome === 'accepted' ? outcome : null
}

function controlFor(judged: CallStep | BurstStep, expect: FixtureInput['expect']): CallStep {
  if (judged.do === 'burst') return controlOf({ method: 'solution/listSolutions' })
  return judged.change === undefined || expect === 'accepted' ? controlOf(judged) : withoutChange(judged)
}

const controlOf = ({ method }: Pick<CallStep, 'method'>): CallStep => ({
  do: 'call',
  method: method === 'manager/auth' ? 'manager/auth' : 'solution/listSolutions',
  params:
    method === 'manager/auth'
      ? { grantType: 'api_key_credentials', apiKeyId: '$root.id', apiKeySecret: '$root.secret', scope: ['solution'] }
      : {},
  auth: method === 'manager/auth' ? { kind: 'none' } : { kind: 'basic', who: 'root' },
})

function withoutChange({ change: _change, as: _as, ...step }: CallStep): CallStep {
  const creates = step.method === 'manager/createApiKey'
  return creates || isRefresh(step) ? controlOf(step) : step
}

const isRefresh = ({ params }: Pick<CallStep, 'params'>): boolean => params.grantType === 'refresh_token'

/** `$pair`, `$pair-2`, … in the order in which they are made. */
function friendlyNames(steps: readonly Step[]): Map<string, string> {
  const names = new Map(Object.entries(standIns))
  let count = 0
  for (const step of steps) {
    if (step.do !== 'call' || step.as === undefined) continue
    count += 1
    names.set(step.as, count === 1 ? 'pair' : `pair-${count}`)
  }
  return names
}

interface Said {
  readonly expect: string | null
  /** A sentence for the reader. */
  readonly title?: string
}

function line(step: Step, names: ReadonlyMap<string, string>, needs: Set<string>, { expect, title }: Said): string {
  if (step.do === 'wait') return `{ wait: ${Math.ceil(step.ms)}ms }`
  if (step.do === 'burst') return inParallel(step, names, needs)
  if (step.method === 'manager/auth') needs.add('sessions')
  if (step.method === 'manager/createApiKey') needs.add('keys')
  if (step.from !== undefined) needs.add('second-address')
  const parts = shortForm(step, names) ?? [
    `call: ${step.method}`,
    `auth: ${authText(step, names)}`,
    ...paramsText(step, names),
  ]
  if (step.from === 'second-address') parts.push('from: second-address')
  else if (step.from !== undefined) throw new Unsayable()
  if (step.inChunks === true) throw new Unsayable()
  if (typeof step.form === 'number') parts.push(`body: { size: ${step.form} }`)
  else if (step.form !== undefined) parts.push(`body: ${bodyWord(step.form)}`)
  if (expect !== null) parts.push(`expect: ${expect}`)
  if (step.as !== undefined) parts.push(`keep: { ${names.get(step.as) ?? step.as}: result }`)
  if (title !== undefined) parts.unshift(`step: ${quoted(title)}`)
  return `{ ${parts.join(', ')} }`
}

/** Equal calls at once; the language has no words for different ones, nor for a single result of many. */
function inParallel({ calls, on }: BurstStep, names: ReadonlyMap<string, string>, needs: Set<string>): string {
  const [first, ...others] = calls.map(({ as: _as, connection: _connection, id: _id, ...call }) => call)
  if (first === undefined || others.some((other) => JSON.stringify(other) !== JSON.stringify(first)))
    throw new Unsayable()
  const call = line(first, names, needs, { expect: null })
  return call.replace(/ }$/, `, parallel: ${calls.length}, connections: ${on} }`)
}

/** Of simultaneous refreshes of one token at most one is accepted. What may come of other calls at once depends on the calls before. */
function raceLine(race: BurstStep, names: ReadonlyMap<string, string>, needs: Set<string>): string {
  if (!race.calls.every(isRefresh)) throw new Unsayable()
  return inParallel(race, names, needs).replace(/ }$/, ', tally: { accepted: at-most 1 } }')
}

/** `grant: alice, scope: […]` and `refresh: $pair`, which send the params in the order of the document. */
function shortForm({ method, auth, change, params }: CallStep, names: ReadonlyMap<string, string>): string[] | null {
  if (method !== 'manager/auth' || auth.kind !== 'none' || change !== undefined) return null
  const order = Object.keys(params).join()
  const { grantType, apiKeyId, apiKeySecret, scope = null, refreshToken } = params
  if (order === 'grantType,refreshToken' && grantType === 'refresh_token') {
    const [, pair] = /^\$([\w-]+)\.refreshToken$/.exec(String(refreshToken)) ?? []
    return pair === undefined ? null : [`refresh: $${named(pair, names)}`]
  }
  if (order !== 'grantType,apiKeyId,apiKeySecret,scope' || grantType !== 'api_key_credentials') return null
  const [, who] = /^\$([\w-]+)\.id$/.exec(String(apiKeyId)) ?? []
  if (who === undefined || apiKeySecret !== `$${who}.secret`) return null
  return [`grant: ${named(who, names)}`, `scope: ${valueText(scope, names, false)}`]
}

const bodyWords: { readonly [form: string]: string } = {
  indented: 'indented',
  'members-reversed': 'members-reordered',
  'line-feed-behind': 'trailing-newline',
  'space-after-colons': 'spaced',
}

function bodyWord(form: string): string {
  const word = bodyWords[form]
  if (word === undefined) throw new Unsayable()
  return word
}

function authText({ auth, change }: CallStep, names: ReadonlyMap<string, string>): string {
  const ofParams = change?.field.startsWith('param ') === true || change?.field.startsWith('member ') === true
  if (auth.kind === 'none') return 'none'
  if (auth.kind === 'header') throw new Unsayable()
  if (auth.kind === 'token' && change?.field === 'token' && change.place !== undefined)
    return `{ token: ${quoted(renamed(change.place, names))} }`
  const but = change === undefined || ofParams ? '' : `, but: ${butText(change, names)}`
  if (auth.kind === 'token') return `{ token: ${quoted(renamed(auth.token, names))}${but} }`
  return `{ ${auth.kind}: ${named(auth.who, names)}${but} }`
}

function named(name: string, names: ReadonlyMap<string, string>): string {
  const known = names.get(name)
  if (known === undefined) throw new Unsayable()
  return known
}

/** In place of digits that belong to one exploration. */
const digits = '4711'

function renamed(text: string, names: ReadonlyMap<string, string>): string {
  return text.replace(/\$([A-Za-z][\w-]*)/g, (whole, name: string) =>
    /^(unique\b|n$)/.test(name) ? whole : name === 'digits' ? digits : `$${named(name, names)}`,
  )
}

/** The mistake in the authorization. */
function butText({ field, operation = '', place }: Change, names: ReadonlyMap<string, string>): string {
  if (field === 'mistake') {
    const [group = '', word = ''] = operation.split('/')
    const known = mistakeGroups.find((one) => one === group)
    if (known !== undefined && mistakesByWord(known).has(word)) return `{ ${group}: ${word} }`
  }
  if (place !== undefined && field === 'key-id') return `{ key-id: ${quoted(renamed(place, names))} }`
  if (place !== undefined && field === 'secret') return `{ secret: ${quoted(renamed(place, names))} }`
  if (place !== undefined && field === 'basic-secret' && place.endsWith('.secret'))
    return `{ secret-of: ${named(place.slice(1, -'.secret'.length), names)} }`
  const word = words[operation]
  if (word === undefined || (field !== 'basic-secret' && field !== 'token')) throw new Unsayable()
  return word
}

function paramsText({ params, change, method }: CallStep, names: ReadonlyMap<string, string>): string[] {
  const named: [string, Json][] = Object.entries(params)
  let but: string[] = []
  let written = named
  if (change?.field.startsWith('param ') === true) {
    const name = change.field.slice('param '.length)
    if (change.remove === true) written = named.filter(([one]) => one !== name)
    else if (change.value !== undefined || change.place !== undefined)
      written = named.map(([one, value]) => [one, one === name ? (change.value ?? change.place ?? value) : value])
    else {
      const word = words[change.operation ?? '']
      if (word === undefined) throw new Unsayable()
      but = [`but: { ${name}: ${word} }`]
    }
  } else if (/^(member |name-of |body$)/.test(change?.field ?? '')) throw new Unsayable()
  if (written.length === 0) return but
  const unique = method === 'manager/createApiKey'
  const text = written.map(([name, value]) => `${name}: ${valueText(value, names, unique)}`).join(', ')
  return [`params: { ${text} }`, ...but]
}

function valueText(value: Json, names: ReadonlyMap<string, string>, unique: boolean): string {
  if (typeof value === 'string') return quoted(renamed(value, names))
  if (Array.isArray(value)) return `[${value.map((item: Json) => valueText(item, names, unique)).join(', ')}]`
  return JSON.stringify(value)
}

/** JSON texts are YAML texts. */
const quoted = (text: string): string => JSON.stringify(text)
