import { afterEach, expect, test, vi } from 'vitest'
import { readArguments } from './arguments.ts'

const config = { options: { turns: { type: 'string', default: '5' } } } as const

/** What the script prints and the code it exits with; no code if it goes on. */
function readLine(...line: string[]): { values?: { turns: string }; code?: number; out: string } {
  let out = ''
  let code: number | undefined
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', '/repo/.build/scripts/numbers.js', ...line])
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text: string) => {
      out += text
    })
  vi.spyOn(process, 'exit').mockImplementation((given) => {
    code = Number(given)
    throw new Error('exit')
  })
  try {
    return { values: readArguments(config).values, out }
  } catch {
    return code === undefined ? { out } : { code, out }
  }
}

afterEach(() => {
  vi.restoreAllMocks()
})

test('reads options and their defaults', () => {
  expect(readLine()).toEqual({ values: { turns: '5' }, out: '' })
  expect(readLine('--turns', '7')).toEqual({ values: { turns: '7' }, out: '' })
})

test.each([[['--turn', '7']], [['--turns']], [['seven']]])('%s is a mistake of the user, said in one line', (line) => {
  const { code, out } = readLine(...line)
  expect(code).toBe(2)
  expect(out).toMatch(/^numbers: .*\(--help says what it takes\)$/)
})

test('--help prints the comment at the head of the script', () => {
  const { code, out } = readLine('--help')
  expect(code).toBe(0)
  expect(out).toMatch(/^Prints the numbers of the README's table/)
  expect(out).toContain('    npm run numbers [-- --write]')
})
