import { expect, test } from 'vitest'
import { readYaml } from '../engine/language/yaml-source.ts'
import { shipped } from '../self/sources.ts'
import { readWorlds, worldsIn } from './read-worlds.ts'

const read = (...lines: string[]) => worldsIn([readYaml(lines.join('\n'), 'own.yaml')])
const world = (...lines: string[]) => read('- world: made up', ...lines.map((line) => `  ${line}`))
const law = (...lines: string[]) => read('- law: made up', ...lines.map((line) => `  ${line}`))

const secrets = 'each: { who: $secrest }'
test.each([
  ['in a list', [secrets, 'steps: []'], '2:16: "$secrest" stands for nothing here, did you mean "$secrets"?'],
  ['in a text', ['steps: [{ wait: 1s }, { call: "a-$nwe-$unique" }]'], '2:33: "$nwe" .* did you mean "$new"?'],
  [
    'in a key',
    ['steps: [{ call: a, alter: { param $unlikely: removed } }]'],
    '2:31: "$unlikely" stands for nothing here',
  ],
  ['that no step keeps', ['steps: [{ refresh: $pair }]'], '2:22: "$pair" stands for nothing here'],
  ['in a condition', ['steps: [{ wait: 1s, unless: $usre }]'], '2:31: "$usre" .* did you mean "$user"?'],
  ['that only laws have', ['each: { own: $contexts }', 'steps: []'], '2:16: "$contexts" stands for nothing here'],
  ['that calls do not fill', [`steps: [{ call: "\${own}" }]`], '2:19: "$own" .* expected one of "$unique", '],
])('a world cannot use a name %s that stands for nothing', (_where, lines, message) => {
  expect(() => world(...lines)).toThrow(pattern(message))
})

test.each([
  ['that only worlds have', ['where: [pair]', 'each: { key: $secrets }', 'steps: []'], '3:16: "$secrets"'],
  ['that only laws about keys have', ['where: [pair]', 'each: { way: $ways }', 'steps: []'], '3:16: "$ways"'],
])('a law cannot use a name %s', (_where, lines, message) => {
  expect(() => law(...lines)).toThrow(pattern(`${message} stands for nothing here`))
})

test.each([
  ['a condition of a key', ['where: [pair, alive]', 'steps: []'], '2:17: "alive" never holds for a pair'],
  [
    'a member that a pair has not',
    ['where: [pair]', 'steps: [{ call: a, auth: { token: $it.accessTken } }]'],
    '3:37: a pair has no "accessTken", did you mean "accessToken"?',
  ],
  [
    'one that a key has not',
    ['where: [key]', 'steps: [{ call: a, auth: { token: $it.accessToken } }]'],
    '3:37: a key has no',
  ],
])('a law that would never be tried is an error: %s', (_what, lines, message) => {
  expect(() => law(...lines)).toThrow(pattern(message))
})

test.each(['keep: { p: result }', 'repeat: 2', 'for: [a]', 'wait: 1s', 'if: $it'])(
  'a step of a law is one call: it has no "%s"',
  (more) => {
    const [key = ''] = more.split(':')
    const read = (step: string) => law('where: [key]', `steps: [${step}]`)
    expect(() => read(`{ grant: $it, ${more} }`)).toThrow(pattern(`3:25: unknown key "${key}"`))
    expect(() => read('{ grant: $it }')).not.toThrow()
  },
)

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
