/**
 * Laws: what follows from the document for any key and any pair, whatever was done before. Each is a small function from a name in play to calls;
 * the model says of each call whether it is sure of the answer. They ride on every step of every world and walk: after a step they look at what
 * it made or used, and at some that it did not touch.
 */
import type { Key } from '../engine/model/state.ts'
import type { Explorer } from './explorer-types.ts'
import { type Caller, creation, expectAccepted, expectRefused, keyOf, mayCreate, wordsOf } from './keyring.ts'
import {
  type Auth,
  basic,
  type CallStep,
  type Change,
  changed,
  ecc,
  grant,
  hmac,
  list,
  refresh,
  token,
} from './step.ts'

/** A call that a law makes. */
interface Probe {
  readonly step: CallStep
  /** Made only if the model is sure of it; absent: made in any case, because its answer teaches. */
  readonly is?: 'accepted' | 'refused'
}

/** A law about pairs or about keys. */
interface Law<Subject> {
  readonly law: string
  /** What makes one case of it another: each call is made a few times for each. */
  kindOf(subject: Subject): string
  of(caller: Caller, subject: Subject): readonly Probe[]
}

interface PairInPlay {
  readonly name: string
  readonly who: string
  /** As it was requested, without the names of sessions and of foreign addresses. */
  readonly scope: readonly string[]
  readonly words: readonly string[]
  readonly generation: number
  /** newest, dead, unknown, or with "expired". */
  readonly standing: string
}

const isOld = ({ standing }: PairInPlay): boolean => standing !== 'newest'
const ofScope = ({ scope, generation, standing }: PairInPlay): string => `${scope.join(' ')} ${generation} ${standing}`
/** What binds it and what it may do beside its areas. */
const ofRestrictions = ({ scope, generation, standing }: PairInPlay): string =>
  `${scope
    .filter((word) => word.includes(':') || /^apikey$/i.test(word))
    .map((word) => word.replace(/^solution:.+/, 'solution:'))
    .join(' ')} ${generation} ${standing}`
const ofKeyAndWords = (pair: PairInPlay): string =>
  `${pair.who} ${pair.words.join(' ')} ${pair.generation} ${pair.standing}`

const refused = (step: CallStep): Probe => ({ step, is: 'refused' })
const accepted = (step: CallStep): Probe => ({ step, is: 'accepted' })
const asked = (step: CallStep): Probe => ({ step })

const inside = { operation: 'inside-changed' }
const wrongSignature: Change = { field: 'signature-bytes', operation: 'middle-bit-flipped' }
const wrongGrantSecret: Change = { field: 'param apiKeySecret', ...inside }
/** Operations on the word before credentials that a server may read as the same word, in other code. */
const otherSpellings = ['lower-case', 'upper-case']

/** Laws of pairs: of their access tokens, unless they say otherwise. */
const lawsOfPairs: readonly Law<PairInPlay>[] = [
  {
    law: 'what lives works, and what ended stays ended',
    kindOf: ofKeyAndWords,
    of: (_caller, pair) => [
      asked(list(token(pair.name))),
      ...(isOld(pair) ? [refused(list(token(pair.name), { connection: 'new' }))] : []),
      refused(creation(token(pair.name))),
    ],
  },
  {
    law: 'a restriction to an address holds',
    kindOf: ofScope,
    of: ({ x }, pair) => {
      const { name, scope } = pair
      const [first, ...others] = x.addresses.slice(1).map((address) => address.name)
      if (first === undefined || isOld(pair)) return []
      const isBound = scope.some((word) => word.startsWith('ipAddr:'))
      if (!isBound) return [accepted(list(token(name), { from: first }))]
      return [
        refused(list(token(name), { from: first })),
        refused(list(token(name), { from: first, connection: 'new' })),
        refused({ ...creation(token(name)), from: first }),
        ...others.map((from) => refused(list(token(name), { from }))),
      ]
    },
  },
  {
    law: 'a restriction to areas holds',
    kindOf: ({ scope, generation, standing }) =>
      `${scope.filter((word) => !word.includes(':')).join(' ')} ${generation} ${standing}`,
    of: ({ x }, pair) =>
      isOld(pair)
        ? []
        : [
            refused(creation(token(pair.name), '$spare.publicKey')),
            refused(list(token(pair.name), { connection: 'new' })),
            // A word for one solution opens something, too.
            ...(pair.scope.length === 1
              ? x.options.probes.map(({ method, params }) =>
                  asked({ do: 'call', method, params, auth: token(pair.name) }),
                )
              : []),
          ],
  },
  {
    law: 'a restriction to a solution holds',
    kindOf: ofScope,
    of: ({ x }, { name, scope }) =>
      scope.includes('context') && scope.some((word) => /^solution:[\w-]/.test(word)) ? contextsOf(x, name) : [],
  },
  {
    law: 'a credential works only in its place and way',
    kindOf: ofRestrictions,
    of: (_caller, pair) => {
      const { name } = pair
      const wrongKind: Auth = { kind: 'token', token: `$${name}.refreshToken` }
      const asRefreshToken = changed(refresh(name), { field: 'param refreshToken', place: `$${name}.accessToken` })
      return [refused(list(wrongKind)), ...(isOld(pair) ? [] : [refused(creation(wrongKind)), refused(asRefreshToken)])]
    },
  },
  {
    law: 'a refused call changed nothing',
    kindOf: ofRestrictions,
    of: (_caller, pair) =>
      isOld(pair)
        ? []
        : [
            refused(changed(refresh(pair.name), { field: 'param grantType', value: 'client_credentials' })),
            refused(changed(list(token(pair.name)), { field: 'member method', operation: 'letter-appended' })),
            refused({ ...creation(token(pair.name)), params: { name: 1, scope: 'solution' } }),
            accepted(list(token(pair.name))),
          ],
  },
  {
    law: 'one part changed is another call',
    kindOf: ({ who, generation, standing }) => `${who} ${generation} ${standing}`,
    of: (_caller, pair) =>
      isOld(pair)
        ? []
        : [
            refused(changed(list(token(pair.name)), { field: 'token', ...inside })),
            refused(changed(refresh(pair.name), { field: 'param refreshToken', operation: 'late-changed' })),
            refused(changed(refresh(pair.name), { field: 'param refreshToken', remove: true })),
            ...otherSpellings.map((operation) =>
              refused(
                list(token(pair.name), {
                  change: { field: 'token', ...inside },
                  also: [{ field: 'token-word', operation }],
                }),
              ),
            ),
          ],
  },
]

/** Of a refresh token that was used: last, because presenting it may end the newer pair. */
const lawsOfOldPairs: readonly Law<PairInPlay>[] = [
  {
    law: 'what ended stays ended',
    kindOf: ofKeyAndWords,
    of: (_caller, { name }) => [
      refused(refresh(name)),
      refused(refresh(name, { connection: 'new' })),
      refused(list(token(name))),
    ],
  },
]

/** The declared calls for the contexts of two solutions. */
function contextsOf({ options: { solutionProbe, solutions } }: Explorer, pair: string): Probe[] {
  const [own, other] = solutions.filter((id) => /^[\w-]+$/.test(id))
  if (solutionProbe === undefined || own === undefined || other === undefined) return []
  const { method, params, path } = solutionProbe
  const of = (solution: string): CallStep => ({
    do: 'call',
    method,
    params: withValue(params, path, solution) as CallStep['params'],
    auth: token(pair),
  })
  return [asked(of(own)), refused(of(other))]
}

function withValue(
  value: CallStep['params'][string] | CallStep['params'],
  [name, ...rest]: readonly string[],
  instead: string,
): CallStep['params'][string] {
  if (name === undefined) return instead
  const members = value as CallStep['params']
  return { ...members, [name]: withValue(members[name] ?? {}, rest, instead) }
}

interface KeyInPlay {
  readonly who: string
  readonly key: Key
  /** Authorization that works for it. */
  readonly ways: readonly Auth[]
  /** Keys beside it that have a secret, or a key pair. */
  readonly others: readonly string[]
}

const lawsOfKeys: readonly Omit<Law<KeyInPlay>, 'kindOf'>[] = [
  {
    law: 'what lives works, and what ended stays ended',
    of: (_caller, { who, key, ways }) => [
      ...ways.flatMap((auth) => [asked(list(auth)), refused(list(auth, { connection: 'new' }))]),
      ...ways.flatMap((auth) => [refused(creation(auth)), refused(creation(auth, '$spare.publicKey'))]),
      ...(key.ended === undefined
        ? []
        : [['solution'], ['context', 'session:ended-$unique']].map((scope) => refused(grant(who, scope)))),
    ],
  },
  {
    law: 'a key with a public key proves nothing by a secret',
    of: ({ x }, { who, key }) => {
      if (key.publicKey === null) return []
      const [asBasic, asHmac, own] = [basic(who), hmac(who), `$${who}-own.publicKey`]
      return [
        ...[asBasic, asHmac].flatMap((auth) => [list(auth), list(auth, { connection: 'new' }), creation(auth)]),
        ...[['solution'], ['context'], ['solution', 'session:'], ['solution', 'solution:']].map((scope) =>
          grant(who, wordsOf(x, who, scope, 'wrong-$unique')),
        ),
        changed(grant(who, ['solution']), { field: 'param apiKeySecret', value: '' }),
        ...[own, `$${who}.id`, `$${who}.name`, `$${who}.secret`].flatMap((place) => [
          changed(grant(who, ['solution']), { field: 'param apiKeySecret', place }),
          changed(list(asBasic), { field: 'basic-secret', place }),
          changed(list(asHmac), { field: 'secret', place }),
          changed(list(ecc(who)), { field: 'signature', place }),
        ]),
        changed(list(asBasic), { field: 'basic-secret', operation: 'empty' }),
        changed(list(asHmac), { field: 'secret', operation: 'empty' }),
        ...[list, creation].flatMap((right) =>
          otherSpellings.flatMap((operation) => [
            changed(right(asBasic), { field: 'basic-word', operation }),
            changed(right(asHmac), { field: 'scheme', operation }),
          ]),
        ),
      ].map(refused)
    },
  },
  {
    law: 'a key proves nothing for another',
    of: ({ x }, { who, key, others }) =>
      others.flatMap((other): Probe[] => {
        const place = `$${other}.secret`
        const hasPublicKey = x.names.get(other)?.seed !== undefined
        const idOfOther: Change = { field: 'key-id', place: `$${other}.id` }
        if (key.publicKey !== null && hasPublicKey) return [refused(changed(list(ecc(who)), idOfOther))]
        if (hasPublicKey) return []
        // A server may keep what it found for the call before.
        return [
          ...(key.publicKey === null ? [accepted(list(hmac(other)))] : []),
          ...(key.publicKey === null
            ? [refused(changed(list(hmac(who)), idOfOther))]
            : [refused(changed(list(ecc(who)), idOfOther))]),
          refused(changed(list(hmac(who)), { field: 'secret', place })),
          refused(changed(list(basic(who)), { field: 'basic-secret', place })),
          refused(changed(grant(who, ['solution']), { field: 'param apiKeySecret', place })),
        ]
      }),
  },
  {
    law: 'a credential works only in its place and way',
    of: (_caller, { who, key }) => {
      if (key.publicKey !== null) return []
      return [`$${who}.id`, `$${who}.name`, `$${who}.secret`].flatMap((place) => [
        ...['basic-id', 'basic-secret', 'basic-text', 'basic-blob'].map((field) =>
          refused(changed(list(basic(who)), { field, place })),
        ),
        ...['key-id', 'secret', 'signature'].map((field) => refused(changed(list(hmac(who)), { field, place }))),
        ...['param apiKeyId', 'param apiKeySecret'].map((field) =>
          refused(changed(grant(who, ['solution']), { field, place })),
        ),
      ])
    },
  },
  {
    law: 'one part changed is another call',
    of: (_caller, { who, key, ways: [way] }) => {
      if (way === undefined) return []
      const signer = key.publicKey === null ? hmac(who) : ecc(who)
      const ofSecret = [
        ...[undefined, '$spare.publicKey'].flatMap((publicKey) => [
          changed(creation(basic(who), publicKey), { field: 'basic-secret', ...inside }),
          changed(creation(hmac(who), publicKey), { field: 'mac', operation: 'middle-bit-flipped' }),
        ]),
        ...otherSpellings.map((operation) =>
          list(basic(who), {
            change: { field: 'basic-secret', ...inside },
            also: [{ field: 'basic-word', operation }],
          }),
        ),
        changed(grant(who, ['solution']), wrongGrantSecret),
      ]
      return [
        changed(list(signer), wrongSignature),
        ...otherSpellings.map((operation) =>
          list(signer, { change: wrongSignature, also: [{ field: 'scheme', operation }] }),
        ),
        changed(creation(ecc(who)), wrongSignature),
        changed(creation(ecc(who), '$spare.publicKey'), wrongSignature),
        ...(key.publicKey === null ? ofSecret : []),
      ].map(refused)
    },
  },
]

/** Probes of keys after one step: wrong calls in a row may lock a key. */
const mostAtOnce = 8
/** After so many wrong calls with a key a right one follows. */
const wrongInARow = 3

/** The memory of the laws: how often each call was made for each kind. */
export type Tried = Map<string, number>

/** Tries the laws after a step. @param names the pairs and keys that it made or used */
export async function applyLaws(caller: Caller, names: readonly string[]): Promise<void> {
  const { x } = caller
  for (const name of new Set(names)) {
    const pair = pairInPlay(x, name)
    if (pair !== undefined) await tryPair(caller, pair, lawsOfPairs)
    else await tryKey(caller, name, mostAtOnce)
  }
  await tryBystander(caller, names)
}

/** Tries the laws of used refresh tokens, at the end of a world. */
export async function applyLateLaws(caller: Caller, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const pair = pairInPlay(caller.x, name)
    if (pair !== undefined && isOld(pair)) await tryPair(caller, pair, lawsOfOldPairs)
  }
}

async function tryPair(caller: Caller, pair: PairInPlay, laws: readonly Law<PairInPlay>[]): Promise<void> {
  for (const { law, kindOf, of } of laws) {
    const kind = `${law}: ${kindOf(pair)}`
    if (caller.tried.has(kind)) continue
    let made = 0
    for (const probe of of(caller, pair)) if (await make(caller, probe)) made += 1
    if (made > 0) note(caller, kind)
  }
}

async function tryKey(caller: Caller, who: string, most: number): Promise<void> {
  const { x, keyring } = caller
  const key = keyOf(x, who)
  if (key === undefined) return
  const ways = key.publicKey === null ? [basic(who), hmac(who)] : [ecc(who)]
  const others = [...keyring.secret, ...keyring.narrow, ...keyring.ecc, ...keyring.narrowEcc].filter(
    (one) => one !== who,
  )
  let [made, wrong] = [0, 0]
  const laws = key.ended === undefined ? lawsOfKeys : lawsOfKeys.slice(0, 1)
  for (const { law, of } of laws)
    for (const [at, probe] of of(caller, { who, key, ways, others }).entries()) {
      const kind = `${law} ${at} ${who} ${key.ended ?? ''}`
      if (made >= most) return
      if (caller.tried.has(kind)) continue
      if (!(await make(caller, probe))) continue
      note(caller, kind)
      made += 1
      wrong += probe.is === 'refused' ? 1 : 0
      if (wrong < wrongInARow || ways[0] === undefined) continue
      await expectAccepted(x, list(ways[0]))
      wrong = 0
    }
}

/** Makes the call of a law. @returns whether it was made */
async function make(caller: Caller, { step, is }: Probe): Promise<boolean> {
  const { x, keyring } = caller
  if (step.params.grantType !== undefined && !keyring.grants) return false
  // Whether it takes a place must be certain: an accepted one would.
  if (step.method === 'manager/createApiKey' && (is !== 'refused' || !mayCreate(caller))) return false
  const seen =
    is === 'accepted'
      ? await expectAccepted(x, step)
      : is === 'refused'
        ? await expectRefused(x, step)
        : await x.call(step)
  return seen !== null
}

/** Pairs that a step did not touch: newer and older ones, of the same key and of others. */
async function tryBystander(caller: Caller, names: readonly string[]): Promise<void> {
  const { x } = caller
  const all = x.pairNames
  const steps = caller.tried.get(bystanders) ?? 0
  caller.tried.set(bystanders, steps + 1)
  if (steps % everyBystander !== 0 || all.length === 0) return
  const recent = Math.min(all.length, recentPairs)
  const at = all.length - 1 - (((steps / everyBystander) * 7) % recent)
  const name = all[Math.floor(at)]
  if (name === undefined || names.includes(name)) return
  await expectAccepted(x, list(token(name)))
}

const bystanders = 'nobody else is touched'
const everyBystander = 3
const recentPairs = 24

const note = ({ tried }: Caller, kind: string): void => void tried.set(kind, (tried.get(kind) ?? 0) + 1)

/** A pair by its name, with what makes it another kind of pair. */
function pairInPlay(x: Explorer, name: string): PairInPlay | undefined {
  const pair = pairNamed(x, name)
  if (pair === undefined) return undefined
  const [who = ''] = [...x.names].find(([, { id }]) => id === pair.key) ?? []
  const own = x.addresses[0]?.seen
  const words = pair.scope.map((word) => word.replace(/^(session:(?:.*(?:solution|api))?).*$/i, '$1')).toSorted()
  const scope = words.map((word) =>
    word.startsWith('ipAddr:') && word !== `ipAddr:${own}` ? 'ipAddr:elsewhere' : word,
  )
  const isOver = pair.accessEnds !== null && x.options.clock.now() > pair.accessEnds.to
  return {
    name,
    who,
    scope,
    words,
    generation: pair.generation,
    standing: `${pair.standing}${isOver ? ' expired' : ''}`,
  }
}

const pairNamed = (x: Explorer, name: string) => {
  const { access, pairs } = x.state()
  const index = access.get(x.names.get(name)?.accessToken ?? '')
  return index === undefined ? undefined : pairs.get(index)
}

/** Every key is still accepted, with the authorization that works for it. */
export async function everyKeyWorks({ x, keyring }: Caller): Promise<void> {
  x.script = 'still-living'
  for (const who of [...keyring.secret, ...keyring.narrow.filter((one) => one === 'solution-key')]) {
    await expectAccepted(x, list(basic(who)))
    await expectAccepted(x, list(hmac(who)))
  }
  for (const who of [...keyring.ecc, ...keyring.narrowEcc]) await expectAccepted(x, list(ecc(who)))
}

/** Some keys and some of the latest pairs still work. @param pick draws a number below another */
export async function someStillWork({ x, keyring }: Caller, pick: (count: number) => number): Promise<void> {
  x.script = 'still-living'
  const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
  await expectAccepted(x, list(pick(2) === 0 ? basic(who) : hmac(who)))
  const eccKey = keyring.ecc[pick(Math.max(1, keyring.ecc.length))]
  if (eccKey !== undefined && pick(3) === 0) await expectAccepted(x, list(ecc(eccKey)))
  const recent = x.pairNames.slice(-30)
  for (let at = 0; at < 2; at++) {
    const name = recent[pick(Math.max(1, recent.length))]
    if (name !== undefined) await expectAccepted(x, list(token(name)))
  }
}

/** Revoked, removed and expired tokens stay so. */
export async function deadStayDead({ x }: Caller, most: number, pick: (count: number) => number): Promise<void> {
  x.script = 'dead-again'
  const all = x.pairNames
  const chosen = all.length <= most ? all : Array.from({ length: most }, () => all[pick(all.length)] ?? '')
  for (const name of chosen) if (x.names.has(name)) await expectRefused(x, list(token(name)))
  for (const name of chosen.slice(0, Math.ceil(most / 3))) if (x.names.has(name)) await expectRefused(x, refresh(name))
}
