/** Part 5.4: the headers from which a target takes the caller's address. */
import type { Caller } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import { type Fact, type Probe, type ProbeResult, resultOf, tokenProbe, word } from './fact.ts'
import { pairOf, requestGrant, requestRefresh, works } from './granted.ts'

/** From the range for documentation (RFC 5737), so no call comes from there. */
const foreignAddress = '203.0.113.7'

const forwardingHeaders: readonly (readonly [name: string, value: string])[] = [
  ['X-Forwarded-For', foreignAddress],
  ['Forwarded', `for=${foreignAddress}`],
  ['Forwarded-For', foreignAddress],
  ['X-Real-IP', foreignAddress],
  ['True-Client-IP', foreignAddress],
  ['CF-Connecting-IP', foreignAddress],
]

async function forwarding(caller: Caller): Promise<ProbeResult> {
  const reply = await requestGrant(caller, ['solution', `ipAddr:${foreignAddress}`])
  const pair = pairOf(reply)
  const granted = word(
    'addresses/foreign-grant',
    'a token for another address',
    pair === null ? 'refused' : 'granted',
    describeReply(reply),
  )
  if (pair === null) return { facts: [granted] }
  if (await works(caller, pair.access))
    return {
      facts: [
        granted,
        word(
          'addresses/forwarded',
          'forwarding headers',
          'unknown',
          'a token for another address worked, so addresses are not checked',
        ),
      ],
    }
  const facts: Fact[] = [granted]
  const counted: string[] = []
  for (const [name, value] of forwardingHeaders) {
    const counts = await works(caller, pair.access, [[name, value]])
    if (counts) counted.push(name)
    facts.push(
      word(
        'addresses/forwarded',
        name,
        counts ? 'counts' : 'ignored',
        `a token for ${foreignAddress} ${counts ? 'worked' : 'was refused'}`,
      ),
    )
  }
  const refreshed = await requestRefresh(caller, pair.refresh)
  const isChecked = refreshed.outcome !== 'accepted'
  return resultOf(
    { trustProxy: counted.includes('X-Forwarded-For'), refreshChecksAddress: isChecked },
    ...facts,
    word(
      'refresh/foreign-address',
      'a refresh from another address',
      isChecked ? 'refused' : 'accepted',
      describeReply(refreshed),
    ),
  )
}

export const addressProbes: readonly Probe[] = [
  tokenProbe('forwarding headers', { calls: 9, refusals: 7, grants: 2 }, forwarding),
]
