import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isObject } from '../engine/json.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import {
  type Path,
  type Problem,
  readPackageYaml,
  readYaml,
  suggestion,
  type YamlSource,
} from '../engine/language/yaml-source.ts'
import { shipped } from '../self/sources.ts'
import { keyOf } from './keyring.ts'
import { subjects } from './laws.ts'
import { readWorlds, type World, worldsIn } from './read-worlds.ts'
import { foundIn, sizesOf } from './test-findings.ts'
import { valuesOf } from './world-values.ts'

type Law = ReturnType<typeof worldsIn>['laws'][number]

// A name that stands for nothing would be sent as it is written.

const ofWorlds: string[] = []
const ofLaws = { pair: [] as string[], key: [] as string[] }
await foundIn({}, async (caller) => {
  const key = keyOf(caller.x, 'by-basic')
  if (key === undefined) throw new Error('there is no such key')
  ofWorlds.push(...valuesOf(caller, sizesOf(20_000)).map(([name]) => name))
  ofLaws.pair.push(...Object.keys(subjects.pair.valuesOf(caller, 'by-basic')))
  ofLaws.key.push(...Object.keys(subjects.key.valuesOf(caller, 'by-basic', key)))
})
const membersOf = { pair: ['accessToken', 'refreshToken'], key: ['id', 'name', 'secret'] }

/** What the explorer puts in when it sends a call. */
const ofCalls = ['unique', 'digits', 'root', 'spare']
/** What each step and each combination has. */
const ofSteps = ['new', 'turn']
const ofCombinations = ['own', 'ownDigits', 'made']

/** What a world or a law may name beside what the explorer puts in. @param left the names by which worlds know what others left */
function namesFor(one: World | Law, left: readonly string[]): string[] {
  const each = Object.keys(one.each ?? {})
  // What a step of a law keeps has no name.
  if ('law' in one) return [...each, ...ofLaws[kindOf(one)], ...ofSteps]
  return [...each, ...(one.takes ?? []), ...boundIn(one), ...ofWorlds, ...left, ...ofCombinations, ...ofSteps]
}

const kindOf = ({ where }: Law): keyof typeof subjects => (where.includes('key') ? 'key' : 'pair')

function unknownName(value: unknown, known: readonly string[]): Problem | undefined {
  for (const { name, member: _, braced, ...place } of namesIn(value)) {
    const allowed = braced ? ofCalls : [...known, ...ofCalls]
    if (allowed.includes(name)) continue
    return { ...place, message: `"$${name}" stands for nothing here${suggestion(name, allowed)}` }
  }
  return undefined
}

/** Why a law would never be tried: its condition cannot hold, or its call cannot be made. */
function deadLaw(one: World | Law): Problem | undefined {
  if (!('law' in one)) return undefined
  const kind = kindOf(one)
  const at = one.where.findIndex((word) => !Object.hasOwn(subjects[kind].conditions, word))
  if (at >= 0) return { path: ['where', at], message: `"${one.where[at]}" never holds for a ${kind}` }
  for (const { name, member, braced: _, ...place } of namesIn(one)) {
    if (name !== 'it' || member === undefined || membersOf[kind].includes(member)) continue
    return { ...place, message: `a ${kind} has no "${member}"${suggestion(member, membersOf[kind])}` }
  }
  return undefined
}

/** A name as in `$it.id`, or in braces, which only the explorer reads. */
type Found = { name: string; member: string | undefined; braced: boolean; path: Path; onKey: boolean }

function namesIn(value: unknown, path: Path = [], onKey = false): Found[] {
  if (typeof value === 'string') {
    const found = value.matchAll(/\$(\{?)([A-Za-z]\w*)(?:\.(\w+))?/g)
    return Array.from(found, ([, brace, name = '', member]) => ({ name, member, braced: brace !== '', path, onKey }))
  }
  if (Array.isArray(value)) return value.flatMap((item, at) => namesIn(item, [...path, at]))
  if (!isObject(value)) return []
  const inMember = (key: string) => [...namesIn(key, [...path, key], true), ...namesIn(value[key], [...path, key])]
  return Object.keys(value).flatMap(inMember)
}

/** The names that steps keep, and those of repeated steps. */
function boundIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(boundIn)
  if (!isObject(value)) return []
  const { keep, for: items, as = 'it', repeat, parallel, beside } = value
  const isRepeated = [items, repeat, parallel, beside].some((one) => one !== undefined)
  return [
    ...Object.keys(isObject(keep) ? keep : {}),
    ...(items === undefined ? [] : [String(as)]),
    ...(isRepeated ? ['n'] : []),
    ...Object.values(value).flatMap(boundIn),
  ]
}

/** Throws at the first name in worlds and laws that stands for nothing, and at a law that would never be tried. */
function readStrictly(sources: readonly YamlSource[]): ReturnType<typeof worldsIn> {
  const read = worldsIn(sources)
  const left = [...read.worlds.values()].flatMap(({ leaves }) => leaves ?? [])
  for (const source of sources)
    for (const [at, one] of (source.value as (World | Law | { part: string })[]).entries()) {
      const problem = 'part' in one ? undefined : (unknownName(one, namesFor(one, left)) ?? deadLaw(one))
      if (problem !== undefined) throw source.error({ ...problem, path: [at, ...problem.path] })
    }
  return read
}

test('each name in our worlds stands for something, and each law can be tried', () => {
  const files = readdirSync(join(packageRoot, 'fixtures', 'worlds')).filter((file) => file.endsWith('.yaml'))
  expect(readStrictly(files.map((file) => readPackageYaml(`fixtures/worlds/${file}`))).laws).not.toEqual([])
})

const read = (...lines: string[]) => readStrictly([readYaml(lines.join('\n'), 'own.yaml')])
const world = (...lines: string[]) => read('- world: made up', ...lines.map((line) => `  ${line}`))
const law = (...lines: string[]) => read('- law: made up', ...lines.map((line) => `  ${line}`))

const secrets = 'each: { who: $secrest }'
const inKey = 'steps: [{ call: a, alter: { param $unlikely: removed } }]'
test.each([
  ['in a list', [secrets, 'steps: []'], '2:16: "$secrest" stands for nothing here, did you mean "secrets"?'],
  ['in a text', ['steps: [{ wait: 1s }, { call: "a-$nwe-$unique" }]'], '2:33: "$nwe" .* did you mean "new"?'],
  ['in a key', [inKey], '2:31: "$unlikely" stands for nothing here'],
  ['that no step keeps', ['steps: [{ refresh: $pair }]'], '2:22: "$pair" stands for nothing here'],
  ['in a condition', ['steps: [{ wait: 1s, unless: $usre }]'], '2:31: "$usre" .* did you mean "user"?'],
  ['that only laws have', ['each: { own: $contexts }', 'steps: []'], '2:16: "$contexts" stands for nothing here'],
  ['that calls do not fill', [`steps: [{ call: "\${own}" }]`], '2:19: "$own" .* expected one of "unique", '],
])('a world cannot use a name %s that stands for nothing', (_where, lines, message) => {
  expect(() => world(...lines)).toThrow(pattern(message))
})

test.each([
  ['that only worlds have', ['where: [pair]', 'each: { key: $secrets }', 'steps: []'], '3:16: "$secrets"'],
  ['that only laws about keys have', ['where: [pair]', 'each: { way: $ways }', 'steps: []'], '3:16: "$ways"'],
])('a law cannot use a name %s', (_where, lines, message) => {
  expect(() => law(...lines)).toThrow(pattern(`${message} stands for nothing here`))
})

const withToken = (name: string) => `steps: [{ call: a, auth: { token: $it.${name} } }]`
const meansToken = '3:37: a pair has no "accessTken", did you mean "accessToken"?'
test.each([
  ['a condition of a key', ['where: [pair, alive]', 'steps: []'], '2:17: "alive" never holds for a pair'],
  ['a member that a pair has not', ['where: [pair]', withToken('accessTken')], meansToken],
  ['one that a key has not', ['where: [key]', withToken('accessToken')], '3:37: a key has no'],
])('a law that would never be tried is an error: %s', (_what, lines, message) => {
  expect(() => law(...lines)).toThrow(pattern(message))
})

const notInLaws = ['keep: { p: result }', 'repeat: 2', 'for: [a]', 'wait: 1s', 'if: $it']
test.each(notInLaws)('a step of a law is one call: it has no "%s"', (more) => {
  const read = (step: string) => law('where: [key]', `steps: [${step}]`)
  expect(() => read(`{ grant: $it, ${more} }`)).toThrow(pattern(`3:25: unknown key "${more.split(':')[0]}"`))
  expect(() => read('{ grant: $it }')).not.toThrow()
})

/** The message with `.*` for the words between. */
const pattern = (message: string): RegExp =>
  new RegExp(`^Cannot load own\\.yaml:${message.replaceAll(/[$?]/g, '\\$&')}`)

test('a world may name what it keeps, what it takes, what another left, and what calls fill', () => {
  const { worlds } = read(
    '- { world: one, leaves: rest, steps: [] }',
    '- world: two',
    '  takes: [who]',
    '  each: { storm: $storms, also: $storm.who }',
    '  steps:',
    `    - { repeat: 2, grant: $who, scope: ["session:s$n-$new-\${unique}"], keep: { pairs: result } }`,
    '    - { for: [$pairs, $rest], as: old, steps: [{ refresh: $old, alter: { key-id: { value: $root.id } } }] }',
    '    - { for: $also, call: solution/listSolutions, auth: { key: $it } }',
  )
  expect([...worlds.keys()]).toEqual(['one', 'two'])
})

test('explore runs every part of order.yaml, and every world in one of them or in a stage of its own', () => {
  const { worlds, order } = readWorlds()
  const code = shipped('suites/explore/explore.ts')
  const isInCode = (name: string): boolean => code.includes(`'${name}'`)
  const inParts = new Set([...order.values()].flat())
  expect([...order.keys()].filter((part) => !isInCode(part))).toEqual([])
  expect([...inParts].filter((world) => !worlds.has(world))).toEqual([])
  expect([...worlds.keys()].filter((world) => !inParts.has(world) && !isInCode(world))).toEqual([])
  const staged = Array.from(code.matchAll(/\bworlds?\(all, '([^']+)'/g), ([, name = '']) => name)
  expect(staged).toContain('key limit')
  expect(staged.filter((name) => !worlds.has(name) && !order.has(name))).toEqual([])
})
