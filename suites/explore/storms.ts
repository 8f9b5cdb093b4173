/** What shows only after many: sessions, wrong tries, keys, long bodies, many calls of one connection. */
import { basic, changed, create, ecc, grant, hmac, list, refresh, token } from './calls.ts'
import { keptOut, letIn } from './chains.ts'
import type { Explorer } from './explorer.ts'
import { apikeyScope, freshName, granted, pairOf } from './people.ts'
import type { Auth, CallStep } from './step.ts'
import type { Asker } from './table.ts'

/** Names that do not sort by age, some of them words of the document. */
const names = [
  'zulu',
  'mike',
  'alpha',
  'solution',
  'root',
  'yankee',
  '10',
  '9',
  'apikey',
  'Bravo',
  'victor',
  'context',
  '1',
  'x',
  'token',
  'lima',
  'sierra',
  'echo',
  'default',
  'A',
  'quebec',
  'session',
  '2',
  'kilo',
]

/** A server may keep the time of a session in seconds. */
const quietMs = 1250

const sessionName = (at: number, storm: string): string =>
  `session:${names[at % names.length] ?? 's'}-${storm}${at >= names.length ? at : ''}-$unique`

/** Makes sessions one after another. */
async function makeSessions(
  x: Explorer,
  who: string,
  storm: string,
  range: readonly [number, number],
): Promise<string[]> {
  const made: string[] = []
  for (let at = range[0]; at < range[1]; at++) {
    const as = freshName(x)
    const words = at < 2 ? (apikeyScope(x) ?? []) : []
    await x.call(
      grant(
        who,
        at % 3 === 0 ? [sessionName(at, storm), 'solution', ...words] : ['solution', sessionName(at, storm), ...words],
        { as },
      ),
    )
    if (x.lines.has(as)) made.push(as)
  }
  return made
}

/** Uses every session, asking where the model has an opinion and where it has none yet. */
async function useAll(x: Explorer, pairs: readonly string[]): Promise<void> {
  for (const pair of pairs) await x.call(list(token(pair)))
}

/** The pair after two refreshes, which stays bound to its session. */
async function refreshedTwice(x: Explorer, pair: string | undefined): Promise<string[]> {
  let newest = pair
  for (let turn = 0; turn < 2 && newest !== undefined; turn++) {
    const next = freshName(x)
    await x.call(refresh(newest, { as: next }))
    newest = x.lines.has(next) ? next : undefined
  }
  return newest === undefined ? [] : [newest]
}

/** What passes the time while sessions must not be disturbed: calls that grant nothing. */
export type Meanwhile = (ms: number) => Promise<void>

/** sessions/…: 16, the 17th, the 18th; the oldest first, whatever its name; used and refreshed ones; then many more. */
export async function sessionStorm(asker: Asker, who: string, meanwhile: Meanwhile): Promise<void> {
  const { x, people } = asker
  x.script = `sessions/storm/${who}`
  const storm = freshName(x, 's')
  const first = await makeSessions(x, who, storm, [0, 2])
  const oldest = [...first.slice(0, 1), ...(await refreshedTwice(x, first[1]))]
  await meanwhile(quietMs)
  const middle = await makeSessions(x, who, storm, [2, 4])
  await meanwhile(quietMs)
  const rest = await makeSessions(x, who, storm, [4, 14])
  // Two names that differ only at their ends.
  for (const end of ['one', 'two']) {
    const as = freshName(x)
    await x.call(grant(who, ['solution', `session:long-name-${storm}-of-session-${end}`], { as }))
    if (x.lines.has(as)) rest.push(as)
  }
  // What is refused, and a refresh, takes no place.
  for (let at = 0; at < 3; at++)
    await keptOut(
      x,
      changed(grant(who, ['solution', `session:wrong-${at}-$unique`]), {
        field: 'param apiKeySecret',
        operation: 'inside-changed',
      }),
    )
  await useAll(x, [...oldest, ...middle, ...rest])
  const next = freshName(x)
  if (middle[1] !== undefined) await x.call(refresh(middle[1], { as: next }))
  await meanwhile(quietMs)
  const more = await makeSessions(x, who, storm, [16, 17])
  await useAll(x, more)
  await useAll(x, [...oldest, ...middle, ...rest])
  await meanwhile(quietMs)
  const last = await makeSessions(x, who, storm, [17, 18])
  await useAll(x, [...last, ...oldest, ...middle, next, ...rest])
  const creates = people.keys && x.state().created <= 9
  for (const gone of oldest) {
    await keptOut(x, list(token(gone), { connection: 'new' }))
    if (creates) await keptOut(x, create(token(gone), { name: 'deviation-$unique', scope: ['solution'] }))
    await keptOut(x, refresh(gone))
  }
  // The name of a removed session is free again, and brings none of its old tokens back.
  const again = await makeSessions(x, who, storm, [0, 1])
  await useAll(x, again)
  for (const gone of oldest) await keptOut(x, list(token(gone)))
}

/** Whether grants of others, or without a name, push sessions out; whether a name used again does. */
export async function sessionReadings(
  asker: Asker,
  [who, other]: readonly [string, string],
  meanwhile: Meanwhile,
): Promise<void> {
  const { x } = asker
  x.script = 'sessions/readings'
  const storm = freshName(x, 'r')
  const kept = await makeSessions(x, who, storm, [0, 1])
  await meanwhile(quietMs)
  for (let at = 0; at < 16; at++) await x.call(grant(other, ['solution']))
  await useAll(x, kept)
  await makeSessions(x, other, `${storm}o`, [0, 17])
  await useAll(x, kept)
  await meanwhile(quietMs)
  const named = await makeSessions(x, who, `${storm}n`, [0, 1])
  const again = await makeSessions(x, who, `${storm}n`, [0, 1])
  await useAll(x, [...named, ...again])
}

/** Sixty-two sessions at once: never more than sixteen live. */
export async function manySessions(asker: Asker, who: string, count: number): Promise<void> {
  const { x } = asker
  x.script = `sessions/many/${who}`
  const made = await makeSessions(x, who, freshName(x, 'm'), [0, count])
  await useAll(x, made)
  for (const pair of made.slice(0, 4)) await keptOut(x, refresh(pair))
}

/** A wrong call again and again: a server may let in who tries often enough. */
export async function wrongTries({ x, people, pairs }: Asker, who: string, tries: number): Promise<void> {
  x.script = `tries/${who}`
  const pair = people.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const eccKey = people.ecc[0]
  const steps: CallStep[] = [
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    ...(eccKey === undefined
      ? []
      : [changed(list(ecc(eccKey)), { field: 'signature-bytes', operation: 'middle-bit-flipped' })]),
    ...(people.grants
      ? [changed(grant(who, ['solution']), { field: 'param apiKeySecret', operation: 'inside-changed' })]
      : []),
    ...(pair === undefined ? [] : [changed(list(token(pair)), { field: 'token', operation: 'inside-changed' })]),
    ...(pair === undefined
      ? []
      : [changed(refresh(pair), { field: 'param refreshToken', operation: 'inside-changed' })]),
    changed(list(basic(who)), { field: 'basic-id', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'key-id', operation: 'inside-changed' }),
    list({ kind: 'none' }),
  ]
  for (const step of steps) for (let at = 0; at < tries; at++) await keptOut(x, step)
  // Whether the key is locked now is open; that nobody else is let in is not.
  for (const step of steps) await keptOut(x, { ...step, connection: 'new' })
  await x.call(list(basic(who)))
  await x.call(list(hmac(who)))
}

/** The same right call many times, on one connection and on new ones. */
export async function rightCalls({ x, people, pairs }: Asker, times: number): Promise<void> {
  x.script = 'many-right-calls'
  const who = people.secret[0] ?? 'root'
  const pair = people.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const ways: Auth[] = [
    ...people.secret.slice(0, 2).flatMap((one) => [basic(one), hmac(one)]),
    ...people.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
  ]
  for (const auth of ways) {
    // Something may end with the hundredth use.
    const uses = auth.kind === 'token' && x.options.maxCalls > 6000 ? 5 * times : times
    for (let at = 0; at < uses; at++) await letIn(x, list(auth, { connection: 5 }))
    for (let at = 0; at < 4; at++) await letIn(x, list(auth, { connection: 'new' }))
    for (const nonce of ['digits', 'letters', 'padded'] as const) await letIn(x, list(auth, { nonce }))
    for (const id of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1]) await x.call(list(auth, { id }))
  }
}

/** Who was let in on a connection says nothing of the next call on it. */
export async function connections({ x, people, pairs }: Asker): Promise<void> {
  x.script = 'connections'
  const who = people.secret[0] ?? 'root'
  const pair = people.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const rights: Auth[] = [
    basic(who),
    hmac(who),
    ...people.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
  ]
  const wrongs: CallStep[] = [
    list({ kind: 'none' }),
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    ...(pair === undefined ? [] : [changed(list(token(pair)), { field: 'token', operation: 'inside-changed' })]),
    ...people.ecc
      .slice(0, 1)
      .map((one) => changed(list(ecc(one)), { field: 'signature-bytes', operation: 'middle-bit-flipped' })),
  ]
  let lane = 100
  for (const auth of rights)
    for (const wrong of wrongs) {
      lane += 1
      await letIn(x, list(auth, { connection: lane }))
      for (let at = 0; at < 3; at++) await keptOut(x, { ...wrong, connection: lane })
      await letIn(x, list(auth, { connection: lane }))
      await keptOut(x, { ...wrong, connection: lane })
    }
  for (const wrong of wrongs) {
    lane += 1
    for (let at = 0; at < 12; at++) await keptOut(x, { ...wrong, connection: lane })
  }
}

const cuts = [
  'first-1-KiB',
  'first-4-KiB',
  'first-8-KiB',
  'first-16-KiB',
  'first-32-KiB',
  'first-64-KiB',
  'first-1000',
  'first-10000',
  'last-1-KiB',
  'first-256',
  'compact',
]
const cutsOfData = [
  'cut-1024',
  'cut-4096',
  'cut-8192',
  'cut-16384',
  'cut-32768',
  'cut-65536',
  'cut-1000',
  'cut-10000',
  'cut-256',
  'cut-512',
  'cut-2048',
]
const sizes = [1100, 2100, 4200, 8300, 16_500, 20_000, 33_000, 66_000]

/** Long bodies, as far as a Basic call shows that they are taken at all. */
export async function longBodies(asker: Asker): Promise<void> {
  const { x, people, pairs } = asker
  x.script = 'long-bodies'
  const who = people.secret[0]
  if (who === undefined) return
  const pair = people.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const ways = [hmac(who), ...people.ecc.slice(0, 1).map(ecc), ...(pair === undefined ? [] : [token(pair)])]
  for (const form of sizes) {
    if ((await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') continue
    for (const auth of ways) {
      await letIn(x, list(auth, { form }))
      const fields = auth.kind === 'token' ? ['token'] : ['signed-body-text', 'signature', 'signed-nonce', 'nonce']
      const operations = [
        'inside-changed',
        'last-character-changed',
        'late-changed',
        'second-half',
        'first-half',
        'space-behind',
        'without-last-character',
        'empty',
      ]
      for (const field of fields)
        for (const operation of field === 'signed-body-text' ? operations : ['inside-changed'])
          await keptOut(x, changed(list(auth, { form }), { field, operation }))
      if (auth.kind !== 'token')
        for (const operation of cutsOfData.filter((one) => Number(one.slice('cut-'.length)) < form))
          await keptOut(x, changed(list(auth, { form }), { field: 'data', operation }))
      if (auth.kind !== 'token')
        for (const operation of cuts)
          await keptOut(x, changed(list(auth, { form }), { field: 'signed-body', operation }))
      if (auth.kind !== 'token')
        for (const operation of ['spaces-at-the-end', 'line-feed-behind', 'another-id', 'members-reversed'])
          await keptOut(x, changed(list(auth, { form }), { field: 'sent-body', operation }))
    }
    await keptOut(x, changed(list(basic(who), { form }), { field: 'basic-secret', operation: 'inside-changed' }))
    await keptOut(x, list({ kind: 'none' }, { form }))
  }
}

/** limits/ten-keys: the last places, by every way, some at once; then how many keys work. */
export async function keyLimit(asker: Asker): Promise<void> {
  const { x, people, pairs } = asker
  if (!people.keys || !people.limits) return
  x.script = 'limits/keys'
  const words = apikeyScope(x)
  const pair =
    people.grants && words !== undefined
      ? await pairOf(x, pairs, { who: 'by-basic', scope: ['solution', ...words] })
      : undefined
  const ways: Auth[] = [
    basic('root'),
    hmac('root'),
    ...people.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
    ...people.secret.slice(1).map(basic),
  ]
  // On warm connections a race shows that new ones hide.
  const lanes = Array.from({ length: 12 }, (_, lane) => lane + 1)
  for (const lane of lanes) await x.call(list(basic('root'), { connection: lane }))
  const at = x.log.length
  const calls = lanes.map((lane) =>
    create(basic('root'), { name: `at-once-${lane}-$unique`, scope: ['solution'] }, { as: `k${at}x${lane}` }),
  )
  await x.burst({ do: 'burst', calls, on: 'warm' })
  for (const [turn, auth] of ways.entries())
    for (const [kind, more] of [{}, { publicKey: '$spare.publicKey' }].entries()) {
      const scope = turn % 2 === 0 ? ['solution'] : ['context']
      await x.call(
        create(auth, { name: `more-${turn}-${kind}-$unique`, scope, ...more }, { as: `m${at}x${turn}x${kind}` }),
      )
    }
  await useEveryKey(x)
}

/** Lets every created key in once, in the way that works for it. */
async function useEveryKey(x: Explorer): Promise<void> {
  for (const [name, value] of x.names) {
    if (value.id === undefined || name === 'root' || !x.state().keys.has(value.id)) continue
    const key = x.state().keys.get(value.id)
    if (key?.scope === null || key === undefined) continue
    const spare = key.publicKey !== null && value.seed === undefined
    if (spare) x.names.set(name, { ...value, ...x.names.get('spare'), id: value.id })
    const listed = key.scope.includes('solution')
    if (key.publicKey !== null) await x.call(list(ecc(name)))
    else if (listed) await x.call(list(basic(name)))
    else await x.call(grant(name, ['context'], { as: freshName(x) }))
  }
  await letIn(x, list(basic('root')))
}

/** Every kind of pair that is used, then waits until it has ended. */
export async function beginExpiry(asker: Asker): Promise<{ due: number; pairs: string[] }> {
  const { x, people } = asker
  x.script = 'expiry'
  const lifetimeMs = 3000
  const own = x.addresses[0]?.seen ?? ''
  const words = apikeyScope(x) ?? []
  const made: string[] = []
  for (const who of people.secret)
    for (const scope of [
      ['solution'],
      ['solution', 'session:'],
      ['solution', `ipAddr:${own}`],
      ['solution', ...words],
    ]) {
      const pair = await granted(x, { who, scope: [...scope, `expiresIn:${lifetimeMs}`] })
      if (pair !== undefined) made.push(pair)
      if (pair !== undefined) await letIn(x, list(token(pair)))
    }
  for (const who of people.secret.slice(0, 2)) {
    const pair = await granted(x, { who, scope: ['solution', `expiresIn:${lifetimeMs}`] })
    if (pair === undefined) continue
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) made.push(next)
  }
  return { due: x.options.wire.now() + lifetimeMs + 1500, pairs: made }
}

/** A token used again and again lives no longer for it. */
export async function useWhileWaiting(x: Explorer, pairs: readonly string[]): Promise<void> {
  for (const pair of pairs.filter((_, at) => at % 2 === 0)) await letIn(x, list(token(pair)))
}

/** expires-in/enforced, tokens/expire, refresh/after-access-expiry. */
export async function endExpiry({ x, people }: Asker, pairs: readonly string[]): Promise<void> {
  x.script = 'expiry'
  for (const pair of pairs) {
    await keptOut(x, list(token(pair)))
    await keptOut(x, list({ kind: 'token', token: `$${pair}.refreshToken` }))
    await keptOut(x, changed(refresh(pair), { field: 'param refreshToken', place: `$${pair}.accessToken` }))
    await keptOut(x, list(token(pair), { connection: 'new' }))
    if (people.keys && x.state().created <= 9)
      await keptOut(x, create(token(pair), { name: 'deviation-$unique', scope: ['solution'] }))
  }
  for (const pair of pairs) {
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (!x.lines.has(next)) continue
    await x.call(list(token(next)))
    await keptOut(x, list(token(pair)))
  }
}

/** What was revoked, pushed out or has ended, tried once more. */
export async function retryDead(x: Explorer, most: number, pick: (count: number) => number): Promise<void> {
  x.script = 'dead-again'
  const all = [...x.lines.keys()]
  const chosen = all.length <= most ? all : Array.from({ length: most }, () => all[pick(all.length)] ?? '')
  for (const name of chosen) {
    if (!x.names.has(name)) continue
    await keptOut(x, list(token(name)))
  }
  for (const name of chosen.slice(0, Math.ceil(most / 3))) if (x.names.has(name)) await keptOut(x, refresh(name))
}

/** Every key is let in still, in the way that works for it. */
export async function letInEveryKey({ x, people }: Asker): Promise<void> {
  x.script = 'still-living'
  for (const who of [...people.secret, ...people.narrow.filter((one) => one === 'solution-key')]) {
    await letIn(x, list(basic(who)))
    await letIn(x, list(hmac(who)))
  }
  for (const who of people.ecc) await letIn(x, list(ecc(who)))
}

/** What should stand still does: keys of every kind and pairs that nobody ended. */
export async function checkLiving({ x, people }: Asker, pick: (count: number) => number): Promise<void> {
  x.script = 'still-living'
  const who = people.secret[pick(people.secret.length)] ?? 'root'
  await letIn(x, list(pick(2) === 0 ? basic(who) : hmac(who)))
  const eccKey = people.ecc[pick(Math.max(1, people.ecc.length))]
  if (eccKey !== undefined && pick(3) === 0) await letIn(x, list(ecc(eccKey)))
  const recent = [...x.lines.keys()].slice(-30)
  for (let at = 0; at < 2; at++) {
    const name = recent[pick(Math.max(1, recent.length))]
    if (name !== undefined) await letIn(x, list(token(name)))
  }
}

/** Where the clock can be moved: what was revoked stays so, and what may still be refreshed can be, an hour, a day and longer after. */
export async function letTimePass(asker: Asker, pick: (count: number) => number): Promise<void> {
  const { x, people } = asker
  const who = people.secret[0]
  if (!x.options.wire.controlled || who === undefined || !people.grants) return
  for (const ms of [61 * 60_000, 5 * 3_600_000, 26 * 3_600_000]) await hoursAfter(asker, ms, pick)
  await longLifetimes(asker, who)
  await slidingTokens(asker, who)
  for (const days of [8, 40, 100, 400]) {
    await hoursAfter(asker, days * 86_400_000, pick)
    await letInEveryKey(asker)
  }
}

async function hoursAfter(asker: Asker, ms: number, pick: (count: number) => number): Promise<void> {
  const { x, people } = asker
  x.script = 'time'
  const who = people.secret[pick(people.secret.length)] ?? 'root'
  const kept: string[] = []
  for (const scope of [['solution'], ['solution', 'expiresIn:2000'], ['solution', 'context']]) {
    const pair = await granted(x, { who, scope })
    if (pair !== undefined) kept.push(pair)
  }
  const old = await granted(x, { who, scope: ['solution'] })
  const newest = freshName(x)
  if (old !== undefined) await x.call(refresh(old, { as: newest }))
  await x.wait(ms)
  if (old !== undefined) await keptOut(x, list(token(old)))
  for (const pair of [...kept, ...(x.lines.has(newest) ? [newest] : [])]) {
    await keptOut(x, list(token(pair)))
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) await letIn(x, list(token(next)))
  }
  if (old !== undefined) await keptOut(x, refresh(old))
  await retryDead(x, 40, pick)
  await checkLiving(asker, pick)
}

/** Lifetimes of hours are kept as they were reported. */
async function longLifetimes({ x }: Asker, who: string): Promise<void> {
  x.script = 'time'
  for (const hours of [2, 10]) {
    const pair = await granted(x, { who, scope: ['solution', `expiresIn:${hours * 3_600_000}`] })
    if (pair === undefined) continue
    for (const share of [0.45, 0.4]) {
      await x.wait(hours * 3_600_000 * share)
      await letIn(x, list(token(pair)))
    }
    await x.wait(hours * 3_600_000 * 0.2)
    await keptOut(x, list(token(pair)))
  }
}

/** Use prolongs neither token. */
async function slidingTokens({ x }: Asker, who: string): Promise<void> {
  x.script = 'time'
  const life = x.state().refreshLifetimeMs
  if (life === null) return
  const pairs = [
    await granted(x, { who, scope: ['solution'] }),
    await granted(x, { who, scope: ['solution', 'expiresIn:60000'] }),
  ]
  for (let turn = 0; turn < 6; turn++) {
    await x.wait(100_000)
    for (const pair of pairs) if (pair !== undefined) await x.call(list(token(pair)))
  }
  await x.wait(life - 500_000)
  for (const pair of pairs) if (pair !== undefined) await x.call(refresh(pair, { as: freshName(x) }))
}
