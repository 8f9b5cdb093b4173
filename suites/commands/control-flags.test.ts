import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addControlFlags, type ControlFlags, controlOptions } from './control-flags.ts'

const read = (...argv: string[]) =>
  controlOptions(addControlFlags(new Command().exitOverride()).parse(argv, { from: 'user' }).opts<ControlFlags>())

test('the control port is closed unless a flag names it', () => {
  expect(read()).toEqual({})
  expect(read('--control')).toEqual({ control: {} })
  expect(read('--control-port', '0')).toEqual({ control: { port: 0 } })
  expect(read('--control-token', 't')).toEqual({ control: { token: 't' } })
})

test('clock, journal, origins and explanations are handed on', () => {
  expect(read('--virtual-clock', '--now', '1000', '--journal', '5', '--cors', '*', '--explain')).toEqual({
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
  expect(read('--cors', text)).toEqual({ cors: [origin] })
})

test.each([
  ...['foo', '', 'localhost:3000', 'http://localhost:3000/app', 'http://h?x', 'http://u:p@h', 'file:///x'].map(
    (text): [string[], string] => [
      ['--cors', text],
      `Cannot use "${text}" for "--cors": expected an origin like "http://localhost:3000", or "*"`,
    ],
  ),
  [['--control-port', '70000'], 'Cannot use "70000" for "--control-port": expected a whole number from 0 to 65535'],
  [['--journal', '1.5'], 'Cannot use "1.5" for "--journal": expected a whole number from 0 to 1000000'],
  [['--now', 'noon'], 'Cannot use "noon" for "--now": expected a number, 0 or more'],
  [['--control-token', ''], 'Give "--control-token" a token that is not empty'],
])('%j cannot be used', (argv, message) => {
  expect(() => read(...argv)).toThrow(message)
})
