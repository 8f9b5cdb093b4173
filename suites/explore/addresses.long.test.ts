import { expect, test } from 'vitest'
import { exploreInMemory } from '../self/explore-in-memory.ts'
import { isProof, partUnlessProof } from '../self/proof-form.ts'
import { createHandler } from '../targets/bundled.ts'
import type { Exploration } from './explore.ts'

const maxCalls = isProof ? 1500 : 700

/** Explores a conforming server that sees our calls come from other addresses than we make them from. */
function exploreThrough(translated: (from: string) => string, loopback: boolean): Promise<Exploration> {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const behind: typeof handle = (request) => handle({ ...request, remoteAddress: translated(request.remoteAddress) })
  return exploreInMemory({ handle: behind, context }, { loopback, maxCalls })
}

const networks: readonly [string, (from: string) => string, boolean][] = [
  ['a proxy on this machine', () => '127.0.0.1', true],
  ['a network, to a server that is far away', () => '198.51.100.20', false],
  ['the port of a container', () => '172.17.0.1', true],
]
test.each(partUnlessProof(networks, 1))(
  'nothing is found in a conforming server behind %s',
  async (_name, translated, loopback) => {
    const { findings, calls, unproved } = await exploreThrough(translated, loopback)
    expect(findings.map(({ message, steps }) => [message, ...steps])).toEqual([])
    expect(calls).toBeGreaterThan(maxCalls - 500)
    // Only a proxy on this machine calls from an address of ours.
    expect(unproved.map((what) => what.split(':')[0])).toEqual(
      translated('') === '127.0.0.1' ? [] : ['addresses/bound'],
    )
  },
)
