/** Sends credentials of the wrong kind, in the wrong place, or of another call. */
import { creation, keptOut, letIn } from './ask-only.ts'
import { basic, changed, ecc, grant, hmac, list, none, refresh, token } from './calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, granted } from './people.ts'
import { wrongToken } from './refresh-chains.ts'
import type { Auth, CallStep } from './step.ts'
import type { Asker } from './table.ts'

/** The credentials of a key, each in the place of the other. */
export async function ownPlaces({ x, people }: Asker, users: number): Promise<void> {
  x.script = 'own-places'
  // The narrow key has had no pair yet: a server may confuse a secret with tokens as long as the first one stands.
  for (const who of [...people.secret.slice(0, users), ...people.narrow.filter((one) => one === 'solution-key')]) {
    const pair = people.grants ? await granted(x, { who, scope: scopeOf(x, who) }) : undefined
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
    if (pair !== undefined) await wrongToken(x, people.keys && who !== 'solution-key', `$${pair}.refreshToken`)
  }
  for (const who of people.ecc)
    for (const place of [`$${who}.id`, `$${who}.name`, `$${who}.secret`, `$${who}-own.publicKey`]) {
      await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', place }))
      await keptOut(x, changed(list(ecc(who)), { field: 'signature', place }))
      await keptOut(x, changed(list(hmac(who)), { field: 'secret', place }))
      if (place !== `$${who}.id`) await keptOut(x, changed(list(ecc(who)), { field: 'key-id', place }))
    }
}

const scopeOf = (x: Explorer, who: string): string[] =>
  who === 'solution-key' ? ['solution'] : ['solution', ...(apikeyScope(x) ?? [])]

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

/** Authorization that keys with and without a public key must not be used with. */
export async function wrongKinds({ x, people }: Asker, users: number): Promise<void> {
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
    for (const other of [...people.secret, ...people.ecc, ...people.narrowEcc])
      if (other !== who) await keptOut(x, changed(list(ecc(who)), { field: 'key-id', place: `$${other}.id` }))
  }
  for (const who of people.secret.slice(0, users)) {
    for (const other of [...people.secret, ...people.narrow]) {
      if (other === who) continue
      await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', place: `$${other}.secret` }))
      await keptOut(x, changed(list(hmac(who)), { field: 'key-id', place: `$${other}.id` }))
      await keptOut(x, changed(list(hmac(who)), { field: 'secret', place: `$${other}.secret` }))
      await keptOut(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', place: `$${other}.secret` }))
    }
    await letIn(x, list(basic(who)))
    await letIn(x, list(hmac(who)))
  }
}

/** authorization/required: no header, and headers that prove nothing. */
export async function noCredentials({ x, people }: Asker): Promise<void> {
  x.script = 'no-credentials'
  const creates = people.keys && x.state().created <= 9
  const headers = emptyHeaders(x.state().terms.scheme).map((header): Auth => ({ kind: 'header', header }))
  for (const auth of [none, ...headers]) {
    await keptOut(x, list(auth))
    await keptOut(x, list(auth, { connection: 'new' }))
    if (creates) await keptOut(x, creation(auth))
  }
}

/** Sends the header of an accepted call with another call: it was signed only for the first one. */
export async function replays({ x, people }: Asker, users: number): Promise<void> {
  x.script = 'replays'
  const creates = (): boolean => people.keys && x.state().created <= 9
  const ways = [...people.secret.slice(0, users).map(hmac), ...people.ecc.slice(0, users).map(ecc)]
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
