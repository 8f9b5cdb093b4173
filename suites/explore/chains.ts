/** Sequences that grow over several steps: refreshes, scopes, addresses, lifetimes. */
import { basic, changed, create, ecc, grant, hmac, list, none, refresh, token } from './calls.ts'
import type { Explorer } from './explorer.ts'
import { richForms } from './operations.ts'
import { apikeyScope, freshName, granted, type PairKind } from './people.ts'
import type { Auth, CallStep } from './step.ts'
import { type Asker, deviate } from './table.ts'

const creation = (auth: Auth): CallStep => create(auth, { name: 'deviation-$unique', scope: ['solution'] })

/** A wrong call, only where the model says that it must be kept out. */
export const keptOut = (x: Explorer, step: CallStep) => x.call(step, 'refused')
/** A right call, only where the model says that it must be accepted. */
export const letIn = (x: Explorer, step: CallStep) => x.call(step, 'accepted')

/** A line refreshed again and again: what is revoked stays so, by every way, while the newest pair works. */
export async function refreshChain(asker: Asker, kind: PairKind, length: number): Promise<void> {
  const { x, people } = asker
  x.script = `chain/refresh/${kind.who}`
  const where = kind.from === undefined ? {} : { from: kind.from }
  const names: string[] = []
  const first = await granted(x, kind)
  if (first === undefined) return
  names.push(first)
  for (let turn = 1; turn <= length; turn++) {
    const old = names.at(-1) ?? first
    await x.call(list(token(old), where))
    const next = freshName(x)
    const seen = await x.call(refresh(old, { as: next, ...where, ...(turn % 2 === 0 ? { connection: 'new' } : {}) }))
    if (seen?.answer.kind !== 'accepted') break
    names.push(next)
    await keptOut(x, list(token(old), where))
    await x.call(list(token(next), where))
    for (const one of [old, next])
      await keptOut(x, changed(refresh(next, where), { field: 'param refreshToken', place: `$${one}.accessToken` }))
    for (const one of [old, next]) await wrongToken(x, people.keys, `$${one}.refreshToken`, where)
    for (const revoked of names.slice(0, -1))
      await keptOut(x, list(token(revoked), { ...where, connection: turn % 2 === 0 ? 0 : 'new' }))
    if (people.keys && x.state().created <= 9) await keptOut(x, creation(token(old)))
    await deviate(asker, list(token(next), where), { field: 'token', operation: 'inside-changed' })
  }
  // Presenting a used refresh token may end the whole line, so this comes last.
  for (const revoked of names.slice(0, -1)) {
    await keptOut(x, refresh(revoked, where))
    await keptOut(x, refresh(revoked, { ...where, connection: 'new' }))
    await keptOut(x, list(token(revoked), where))
  }
}

/** A refresh token where an access token belongs, for every method. */
async function wrongToken(x: Explorer, mayCreate: boolean, text: string, where: { from?: string } = {}): Promise<void> {
  const auth: Auth = { kind: 'token', token: text }
  await keptOut(x, list(auth, where))
  if (mayCreate && x.state().created <= 9) await keptOut(x, creation(auth))
}

/** A key's own credentials, each at the other's place. */
export async function ownPlaces({ x, people }: Asker): Promise<void> {
  x.script = 'own-places'
  for (const who of people.secret) {
    const pair = people.grants ? await granted(x, { who, scope: ['solution', ...(apikeyScope(x) ?? [])] }) : undefined
    const tokens = pair === undefined ? [] : [`$${pair}.accessToken`, `$${pair}.refreshToken`]
    for (const place of [`$${who}.id`, `$${who}.name`, `$${who}.secret`, ...tokens]) {
      for (const field of ['basic-id', 'basic-secret', 'basic-text', 'basic-blob'])
        await keptOut(x, changed(list(basic(who)), { field, place }))
      for (const field of ['key-id', 'secret', 'signature'])
        await keptOut(x, changed(list(hmac(who)), { field, place }))
      if (pair === undefined) continue
      for (const field of ['param apiKeyId', 'param apiKeySecret'])
        await keptOut(x, changed(grant(who, ['solution']), { field, place }))
      await keptOut(x, changed(refresh(pair), { field: 'param refreshToken', place }))
      await keptOut(x, changed(list(token(pair)), { field: 'token', place }))
    }
    await letIn(x, list(basic(who)))
    if (pair !== undefined) await wrongToken(x, people.keys, `$${pair}.refreshToken`)
  }
  for (const who of people.ecc)
    for (const place of [`$${who}.id`, `$${who}.name`, `$${who}.secret`, `$${who}-own.publicKey`]) {
      await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', place }))
      await keptOut(x, changed(list(ecc(who)), { field: 'signature', place }))
      await keptOut(x, changed(list(hmac(who)), { field: 'secret', place }))
      if (place !== `$${who}.id`) await keptOut(x, changed(list(ecc(who)), { field: 'key-id', place }))
    }
}

/** One used refresh token at a time, right after its use, a second later and from a new connection. */
export async function usedTwice(asker: Asker, kind: PairKind): Promise<void> {
  const { x } = asker
  x.script = `chain/used-twice/${kind.who}`
  const old = await granted(x, kind)
  if (old === undefined) return
  const next = freshName(x)
  await x.call(refresh(old, { as: next }))
  await keptOut(x, refresh(old))
  await keptOut(x, refresh(old))
  await keptOut(x, list(token(old)))
}

const otherAreas = ['context', 'thread', 'store', 'inbox', 'stream']

/** Scopes without `solution`: each other area, every two of them, and some in company. */
const limits: readonly (readonly string[])[] = [
  ...otherAreas.map((area) => [area]),
  ...otherAreas.flatMap((one, at) => otherAreas.slice(at + 1).map((other) => [one, other])),
  ['context', 'session:'],
  ['thread', 'expiresIn:15000'],
  ['store', 'inbox', 'thread'],
  ['context', 'solution:*'],
  otherAreas,
]

/** Scopes with `solution`, in company and at every place. */
const opening: readonly (readonly string[])[] = [
  [...otherAreas, 'solution'],
  ['solution', ...otherAreas],
  ['solution', 'solution:*'],
  ['solution', 'solution:1', 'solution:*'],
  ['solution:1', 'solution'],
  ['context', 'solution', 'expiresIn:15000', 'session:'],
]

/** Tokens are limited to their areas, whatever wider tokens of the same key do before and after. */
export async function scopeLimits(asker: Asker, who: string, isFirst: boolean): Promise<void> {
  const { x, people } = asker
  x.script = `scopes/${who}`
  const wide = await granted(x, { who, scope: ['solution', ...(apikeyScope(x) ?? [])] })
  const creates = (): boolean => people.keys && x.state().created <= 9
  const asked = isFirst ? limits : limits.slice(0, 5)
  for (const scope of asked) {
    const narrow = await granted(x, { who, scope })
    if (narrow === undefined) continue
    if (wide !== undefined) await letIn(x, list(token(wide)))
    await keptOut(x, list(token(narrow)))
    await keptOut(x, list(token(narrow), { connection: 'new' }))
    if (creates()) await keptOut(x, creation(token(narrow)))
    const next = freshName(x)
    await x.call(refresh(narrow, { as: next }))
    if (x.lines.has(next)) await keptOut(x, list(token(next)))
    if (creates() && x.lines.has(next)) await keptOut(x, creation(token(next)))
  }
  for (const scope of opening) {
    const open = await granted(x, { who, scope })
    if (open === undefined) continue
    await x.call(list(token(open)))
    const next = freshName(x)
    await x.call(refresh(open, { as: next }))
    if (x.lines.has(next)) await x.call(list(token(next)))
  }
  const only = await granted(x, { who, scope: ['solution'] })
  if (only === undefined) return
  await x.call(list(token(only)))
  if (creates()) await keptOut(x, creation(token(only)))
  const next = freshName(x)
  await x.call(refresh(only, { as: next }))
  await x.call(list(token(next)))
  if (creates()) await keptOut(x, creation(token(next)))
}

/** Keys with a narrow scope open nothing else, by whichever way. */
export async function narrowKeys({ x, people }: Asker): Promise<void> {
  x.script = 'scopes/narrow-keys'
  const creates = (): boolean => people.keys && x.state().created <= 9
  const ways = [...people.narrow.flatMap((who) => [basic(who), hmac(who)]), ...people.narrowEcc.map(ecc)]
  for (const auth of ways) {
    await x.call(list(auth))
    await keptOut(x, list(auth, { connection: 'new' }))
    if (creates()) await keptOut(x, creation(auth))
  }
  for (const who of people.narrow)
    for (const scope of [
      ['solution'],
      ['context'],
      ['solution', 'context'],
      ['thread'],
      apikeyScope(x) ?? ['apikey'],
      [],
    ]) {
      const pair = await granted(x, { who, scope })
      if (pair === undefined) continue
      await x.call(list(token(pair)))
      if (creates()) await keptOut(x, creation(token(pair)))
      const next = freshName(x)
      await x.call(refresh(pair, { as: next }))
      if (x.lines.has(next)) await x.call(list(token(next)))
    }
}

/** Headers that prove nothing. */
const emptyHeaders = (scheme: string): string[] => [
  '',
  'Basic',
  'Basic Og==',
  'Basic Ogo=',
  'Bearer',
  'Bearer null',
  'Bearer undefined',
  'Bearer 0',
  'Token',
  scheme,
  `${scheme} ;;;;`,
  `${scheme} ;1;;;`,
  'null',
  'undefined',
  'true',
  'Digest username="root"',
  'Negotiate',
  'None',
]

/** What a key with a public key must not be used with, and a key without one. */
export async function wrongKinds({ x, people }: Asker): Promise<void> {
  x.script = 'kinds-of-keys'
  const creates = people.keys && x.state().created <= 9
  const steps = (auth: Auth): CallStep[] => [
    list(auth),
    list(auth, { connection: 'new' }),
    ...(creates ? [creation(auth)] : []),
  ]
  for (const who of [...people.ecc, ...people.narrowEcc]) {
    for (const step of [...steps(basic(who)), ...steps(hmac(who))]) await keptOut(x, step)
    for (const scope of [['solution'], ['context'], ['session:wrong-$unique', 'solution']])
      await keptOut(x, grant(who, scope))
    await keptOut(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', value: '' }))
    await keptOut(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', place: `$${who}-own.publicKey` }))
    await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', place: `$${who}-own.publicKey` }))
    await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', operation: 'empty' }))
    await keptOut(x, changed(list(hmac(who)), { field: 'secret', place: `$${who}-own.publicKey` }))
    await keptOut(x, changed(list(hmac(who)), { field: 'secret', operation: 'empty' }))
    await letIn(x, list(ecc(who)))
    for (const other of [...people.secret, ...people.ecc])
      if (other !== who) await keptOut(x, changed(list(ecc(who)), { field: 'key-id', place: `$${other}.id` }))
  }
  for (const who of people.secret) {
    for (const other of people.secret) {
      if (other === who) continue
      await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', place: `$${other}.secret` }))
      await keptOut(x, changed(list(hmac(who)), { field: 'key-id', place: `$${other}.id` }))
      await keptOut(x, changed(list(hmac(who)), { field: 'secret', place: `$${other}.secret` }))
      await keptOut(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', place: `$${other}.secret` }))
    }
    await letIn(x, list(basic(who)))
    await letIn(x, list(hmac(who)))
  }
  for (const step of steps(none)) await keptOut(x, step)
  for (const header of emptyHeaders(x.state().terms.scheme))
    for (const step of steps({ kind: 'header', header })) await keptOut(x, step)
}

/** Addresses in the neighbourhood of ours, and some far away. */
const neighbours = (own: string): string[] => {
  const parts = own.split('.')
  const [a = '', b = '', c = '', d = ''] = parts
  const next = String((Number(d) + 1) % 256)
  return [
    `${a}.${b}.${c}.${next}`,
    `${a}.${b}.${c}.${d}0`,
    `${a}.${b}.${c}.2${d}`,
    `${a}.${b}.${Number(c) + 1}.${d}`,
    `${a}.${Number(b) + 1}.${c}.${d}`,
    `${Number(a) === 10 ? 11 : 10}.${b}.${c}.${d}`,
    `${d}.${c}.${b}.${a}`,
    '0.0.0.0',
    '255.255.255.255',
    '203.0.113.7',
  ].filter((address) => address !== own && address.split('.').every((part) => Number(part) < 256))
}

/** addresses/bound: a token bound to another address is of no use from ours, and one bound to ours of none from another. */
export async function addresses(asker: Asker, who: string): Promise<void> {
  const { x, people } = asker
  x.script = `addresses/${who}`
  const [own, second, ...more] = x.addresses
  if (own === undefined) return
  const creates = (): boolean => people.keys && x.state().created <= 9
  const words = apikeyScope(x) ?? []
  for (const address of neighbours(own.seen)) {
    const foreign = await granted(x, { who, scope: ['solution', ...words, `ipAddr:${address}`] })
    if (foreign === undefined) continue
    await keptOut(x, list(token(foreign)))
    if (creates()) await keptOut(x, creation(token(foreign)))
    const next = freshName(x)
    await x.call(refresh(foreign, { as: next }))
    if (x.lines.has(next)) await keptOut(x, list(token(next)))
  }
  for (const extra of [[], ['session:'], ['expiresIn:15000'], ['context', 'session:', 'expiresIn:15000']]) {
    const bound = await granted(x, { who, scope: ['solution', ...words, `ipAddr:${own.seen}`, ...extra] })
    if (bound === undefined) continue
    await letIn(x, list(token(bound)))
    for (const other of [second, ...more]) {
      if (other === undefined) continue
      await keptOut(x, list(token(bound), { from: other.name }))
      await keptOut(x, list(token(bound), { from: other.name, connection: 'new' }))
      if (creates()) await keptOut(x, creation({ ...token(bound) }))
      await letIn(x, list(token(bound)))
    }
    let pair = bound
    for (let turn = 0; turn < 3; turn++) {
      const next = freshName(x)
      await x.call(refresh(pair, { as: next }))
      if (!x.lines.has(next)) break
      pair = next
      await x.call(list(token(pair)))
      if (second !== undefined) await keptOut(x, list(token(pair), { from: second.name }))
    }
  }
  if (second === undefined) return
  const elsewhere = await granted(x, { who, scope: ['solution', `ipAddr:${second.seen}`], from: second.name })
  if (elsewhere === undefined) return
  await x.call(list(token(elsewhere), { from: second.name }))
  await keptOut(x, list(token(elsewhere)))
}

/** Makes a pair and uses it at once. */
async function useNew(x: Explorer, step: CallStep): Promise<void> {
  await x.call(step)
  if (step.as !== undefined && x.lines.has(step.as)) await x.call(list(token(step.as)))
}

/** expires-in/…: what every size of NUMBER gives. */
export async function lifetimes(asker: Asker, who: string): Promise<void> {
  const { x } = asker
  x.script = `lifetimes/${who}`
  const refreshLife = x.state().refreshLifetimeMs
  const sizes = [
    100, 250, 500, 900, 1000, 1500, 2500, 5000, 9999, 11_000, 12_000, 13_000, 15_000, 20_000, 30_000, 59_000, 60_000,
    61_000, 119_000, 300_000, 600_000, 900_000, 901_000, 1_800_000, 3_600_000, 3_601_000, 7_200_000, 43_200_000,
    86_400_000, 86_401_000,
  ]
  const around = refreshLife === null ? [] : [0.5, 0.9, 0.99].map((share) => Math.round(refreshLife * share))
  const beyond =
    refreshLife === null
      ? []
      : [refreshLife - 5000, refreshLife + 2000, refreshLife + 60_000, refreshLife * 2, refreshLife * 10].map(
          Math.round,
        )
  const edges = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 5000, 2 ** 32, 2 ** 32 + 5000, 1e10, 1e12, 1e13, 2 ** 53 - 1]
  for (const size of [...new Set([...sizes, ...around, ...beyond, ...edges])]
    .filter((one) => one > 0)
    .sort((a, b) => a - b))
    await useNew(x, grant(who, ['solution', `expiresIn:${size}`], { as: freshName(x) }))
  for (const size of [2000, 15_000, 12_345])
    for (const more of [['session:life-$unique'], [`ipAddr:${x.addresses[0]?.seen ?? ''}`]])
      await x.call(grant(who, [`expiresIn:${size}`, 'solution', ...more], { as: freshName(x) }))
}

/** A header that was right once, with another call: it was signed for the first one only. */
export async function replays({ x, people }: Asker): Promise<void> {
  x.script = 'replays'
  const creates = (): boolean => people.keys && x.state().created <= 9
  const ways = [...people.secret.slice(0, 3).map(hmac), ...people.ecc.slice(0, 2).map(ecc)]
  for (const auth of ways)
    for (const connection of [0, 'new'] as const) {
      const as = freshName(x, 'sent')
      await x.call(list(auth, { as, connection }))
      if (!x.names.has(as)) continue
      const again: Auth = { kind: 'header', header: `$${as}.header` }
      await keptOut(x, list(again, { connection }))
      await keptOut(x, list(again, { connection, form: 'indented' }))
      if (creates()) await keptOut(x, { ...creation(again), connection })
      await keptOut(x, list(again, { form: 'space-behind' }))
      const signature = { field: 'signature', place: `$${as}.signature` }
      await keptOut(x, changed(list(auth, { connection }), signature))
      if (creates()) await keptOut(x, changed(creation(auth), signature))
    }
}

/** Bodies that can be written in many ways, each signed in one and sent in another. */
export async function writtenAgain(asker: Asker): Promise<void> {
  const { x, people } = asker
  x.script = 'bodies'
  const { fields, changesOf } = x.options.operations
  const changes = fields
    .filter(({ field }) => ['signed-body', 'sent-body', 'mistake'].includes(field))
    .flatMap((field) => changesOf(field))
    .filter(
      ({ field, operation = '' }) =>
        field !== 'mistake' || operation.startsWith('data/with-body') || operation.startsWith('data/without-body'),
    )
  const auths = [...people.secret.slice(0, 1).map(hmac), ...people.ecc.slice(0, 1).map(ecc)]
  for (const form of richForms)
    for (const auth of auths) {
      const right = list(auth, { form })
      const who = people.secret[0]
      // Basic credentials show whether such a body is taken at all.
      if (who !== undefined && (await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') continue
      if ((await x.call(right))?.answer.kind !== 'accepted') continue
      for (const change of changes)
        if (change.field === 'signed-body' || (auth.kind === 'hmac' && change.field === 'mistake'))
          await keptOut(x, changed(right, change))
    }
  for (const auth of auths)
    for (const change of changes) {
      if (!people.keys || x.state().created > 9) return
      const right = create(auth, { name: 'deviation-$unique', scope: ['solution'] })
      await keptOut(x, changed(right, change))
    }
}
