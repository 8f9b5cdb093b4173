import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { serve } from './start.ts'

const folder = fileURLToPath(new URL('../fixtures/clients/python/', import.meta.url))
const pythonMissing = spawnSync('python3', ['--version']).status === 0 ? '' : ' (NOT RUN: needs python3)'

function runTests(line: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, SVC_SERVER: line, PYTHONDONTWRITEBYTECODE: '1' }
    const child = spawn('python3', ['-m', 'unittest', 'test_svc_client'], { cwd: folder, env })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => resolve({ code, output }))
  })
}

test.skipIf(pythonMissing !== '')(`a client in Python passes its own tests through serve${pythonMissing}`, async () => {
  let result: Promise<{ code: number | null; output: string }> | undefined
  const ended = serve(
    { control: true, clock: 'virtual' },
    {
      print: (line) => {
        result = runTests(line)
      },
      complain: () => undefined,
      onStop: (stop) => result?.then(stop),
    },
  )
  expect(await ended).toBe(0)
  const { code, output } = (await result) ?? { code: null, output: 'serve printed no line' }
  expect(code, output).toBe(0)
  expect(output).toMatch(/Ran 7 tests/)
})
