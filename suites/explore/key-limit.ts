/** Fills the last places for keys, at once and one by one, and checks whether every key works. */

import { basic, create, ecc, grant, hmac, list, token } from './calls.ts'
import { expectAccepted } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, byRoot, freshName, granted, pairOf } from './keyring.ts'
import type { Auth } from './step.ts'
import type { Caller } from './table.ts'

/** limits/ten-keys: fills the last places with every kind of authorization, some at once; then counts the working keys. */
export async function keyLimit(caller: Caller): Promise<void> {
  const { x, keyring, pairs } = caller
  if (!keyring.keys || !keyring.limits) return
  x.script = 'limits/keys'
  const words = apikeyScope(x)
  const pair =
    keyring.grants && words !== undefined
      ? await pairOf(x, pairs, { who: 'by-basic', scope: ['solution', ...words] })
      : undefined
  const ofSession =
    pair === undefined
      ? undefined
      : await granted(x, { who: 'root', scope: ['solution', ...(words ?? []), 'session:'] })
  const refreshed =
    pair === undefined
      ? undefined
      : await pairOf(x, pairs, { who: 'root', scope: ['solution', ...(words ?? [])], generation: 1 })
  const ways: Auth[] = [
    basic('root'),
    hmac('root'),
    ...keyring.ecc.slice(0, 1).map(ecc),
    ...[pair, ofSession, refreshed].flatMap((name) => (name === undefined ? [] : [token(name)])),
    ...keyring.secret.slice(1).map(basic),
  ]
  // Warm connections show races that new ones hide.
  const lanes = Array.from({ length: 12 }, (_, lane) => lane + 1)
  for (const lane of lanes) await x.call(list(byRoot(x), { connection: lane }))
  const at = x.log.length
  const calls = lanes.map((lane) =>
    create(byRoot(x), { name: `at-once-${lane}-$unique`, scope: ['solution'] }, { as: `k${at}x${lane}` }),
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

/** Creates one more key, and checks how many work then. */
export async function oneKeyMore({ x }: Caller): Promise<void> {
  x.script = 'limits/one-more'
  const who = freshName(x, 'late')
  await x.call(create(byRoot(x), { name: `${who}-$unique`, scope: ['solution'] }, { as: who }))
  if (x.names.has(who)) await useEveryKey(x)
}

/** Calls once with every created key, in the way that works for it. */
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
  await expectAccepted(x, list(byRoot(x)))
}

/** The control of every refused creation: checks that a right one is still accepted. */
export async function rightCreation({ x, keyring }: Caller): Promise<void> {
  x.script = 'right-creation'
  const [maker = byRoot(x)] = keyring.ecc.map(ecc)
  if (keyring.keys && x.state().created < 9)
    await x.call(create(maker, { name: 'right-$unique', scope: ['solution'] }, { as: 'right-one' }))
}
