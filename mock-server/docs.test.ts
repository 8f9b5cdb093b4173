import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultKinds } from './faults.ts'
import * as door from './index.ts'

const page = readFileSync(new URL('../docs/mock.md', import.meta.url), 'utf8')
const section = /<!-- mock:begin -->([\s\S]*)<!-- mock:end -->/.exec(page)?.[1] ?? ''

test('the example in docs/mock.md runs unchanged', async () => {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(section) ?? []
  const [, names, rest = ''] = /^import \{ (.*) \} from 'svc-conformance\/mock-server'\n([\s\S]*)$/.exec(code) ?? []
  expect(names).toBe('startMockServer')
  const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (start: unknown) => Promise<void>
  await new AsyncFunction('startMockServer', rest)(door.startMockServer)
})

test('docs/mock.md names every scene and every fault, and nothing that is not exported', () => {
  for (const scene of door.sceneNames) expect(section).toContain(`\`${scene}\``)
  for (const kind of faultKinds) expect(section).toContain(`\`${kind}\``)
  for (const name of ['mockServerFixture', 'createApp', 'createHandler']) expect(door).toHaveProperty(name)
})
