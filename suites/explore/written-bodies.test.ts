import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { rightCalls } from './repeated-calls.ts'
import type { Caller } from './table.ts'
import { brokenBy, foundIn } from './test-findings.ts'
import { bodiesInChunks } from './written-bodies.ts'

/** Refuses calls of a kind that are right. */
const refusing = (
  isRefused: (headers: { [name: string]: unknown }, body: string) => boolean,
): Omit<ServerOptions, 'clock'> => ({
  around: (handle) => async (request) => {
    if (!isRefused(request.headers, String(request.body))) return handle(request)
    return { status: 401, headers: {}, body: '' }
  },
})

const isInChunks = (headers: { [name: string]: unknown }): boolean => headers['transfer-encoding'] !== undefined
const isSigned = ({ authorization }: { [name: string]: unknown }): boolean => String(authorization).includes(';1;')

const chunks = ({ x, ...caller }: Caller): Promise<void> => {
  x.setSignatureClock(0, true)
  return bodiesInChunks({ x, ...caller }, 1)
}

test('where Basic credentials show that bodies in chunks are accepted, a signature over one must be', async () => {
  const { requirements } = await openCorpus()
  const { x, found } = await foundIn(
    refusing((headers) => isInChunks(headers) && isSigned(headers)),
    chunks,
  )
  const findings = collectFindings(x, requirements)
  for (const one of found) await findings.take(one)
  expect(findings.found[0]?.requirement).toBe('signatures/request-body')
  const inChunks = 'headers: { transfer-encoding: chunked }'
  expect(findings.found[0]?.fixture).toContain(`auth: { basic: root }, ${inChunks}, expect: accepted }`)
  expect(findings.found[0]?.fixture).toContain(`auth: { hmac: root }, ${inChunks}, expect: accepted }`)
})

test('a server that accepts no body in chunks breaks nothing', async () => {
  expect(await brokenBy(refusing(isInChunks), chunks)).toEqual([])
})

test('the same JSON in another text is the same call', async () => {
  const run = (caller: Caller) => rightCalls(caller, 1, 1)
  expect(
    await brokenBy(
      refusing((_headers, body) => body.includes('\\/')),
      run,
    ),
  ).not.toEqual([])
  expect(await brokenBy({}, run)).toEqual([])
})
