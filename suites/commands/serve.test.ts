import { expect, test } from 'vitest'
import { serveOptions } from './serve.ts'

type Flags = Partial<Parameters<typeof serveOptions>[0]>

const read = (flags: Flags = {}) => serveOptions({ port: '0', host: '127.0.0.1', ...flags })

test('the control port is closed unless a flag names it', () => {
  expect(read().control).toBeUndefined()
  expect(read({ control: true }).control).toEqual({})
  expect(read({ controlPort: '0' }).control).toEqual({ port: 0 })
  expect(read({ controlToken: 't' }).control).toEqual({ token: 't' })
})

test('a base path loses its last slash', () => {
  const paths = ['/foo/', '/foo', '/', '', '/a/b.c/'].map((basePath) => read({ basePath }).profile?.basePath)
  expect(paths).toEqual(['/foo', '/foo', '', '', '/a/b.c'])
})

test('settings come after profiles, so they win', () => {
  const { profileWords } = read({ profile: ['random', 'p.json'], set: ['delayMs=80'] })
  expect(profileWords).toEqual(['random', 'p.json', 'delayMs=80'])
})

test('clock, journal, origins and explanations are handed on', () => {
  expect(read({ virtualClock: true, now: '1000', journal: '5', cors: ['*'], explain: true })).toMatchObject({
    clock: 'virtual',
    now: 1000,
    journal: { size: 5 },
    cors: ['*'],
    explain: true,
  })
})

test.each([
  ['http://localhost:3000', 'http://localhost:3000'],
  ['http://localhost:3000/', 'http://localhost:3000'],
  ['HTTPS://Client.Example:443', 'https://client.example'],
  ['http://[::1]:3000', 'http://[::1]:3000'],
  ['capacitor://localhost', 'capacitor://localhost'],
  ['null', 'null'],
])('the origin %s is taken as browsers write it', (text, origin) => {
  expect(read({ cors: [text] }).cors).toEqual([origin])
})

const noOrigin = (text: string): [Flags, string] => {
  return [
    { cors: [text] },
    `Cannot use "${text}" for "--cors": expected an origin like "http://localhost:3000", or "*"`,
  ]
}
const noOrigins = ['foo', '', 'localhost:3000', 'http://localhost:3000/app', 'http://h?x', 'http://u:p@h', 'file:///x']
test.each<[Flags, string]>([
  ...noOrigins.map(noOrigin),
  [{ controlPort: '70000' }, 'Cannot use "70000" for "--control-port": expected a whole number from 0 to 65535'],
  [{ journal: '1.5' }, 'Cannot use "1.5" for "--journal": expected a whole number from 0 to 1000000'],
  [{ now: 'noon' }, 'Cannot use "noon" for "--now": expected a number, 0 or more'],
  [{ controlToken: '' }, 'Give "--control-token" a token that is not empty'],
])('%j cannot be used', (flags, message) => {
  expect(() => read(flags)).toThrow(message)
})
