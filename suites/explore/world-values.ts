/** What worlds may name: keys by kind, addresses, words of the target, and lists that follow from what is known of it (fixtures/worlds/README.md). */
import { groupBy } from '../engine/group.ts'
import { alterOf, readDeviations } from '../engine/language/deviations.ts'
import { toBase64, toHex } from '../engine/signer/bytes.ts'
import { publicKeyFromPem } from '../engine/signer/pem.ts'
import type { Sizes } from './budget.ts'
import type { Explorer } from './explorer.ts'
import { apikeyScope, type Caller, isOwnKey, keyOf } from './keyring.ts'

/** Values by name; a function stands for a list that changes. null: there is no such key. */
export function valuesOf(caller: Caller, { users, longBodies, storms }: Sizes): [string, unknown][] {
  const { x, keyring } = caller
  const { secret, ecc: signers, narrow, narrowEcc, counted } = keyring
  const [first = null, second = first] = secret
  const third = secret[2] ?? second
  const life = x.state().refreshLifetimeMs
  const beyond = life === null ? [] : [life - 5000, life + 2000, life + 60_000, life * 2, life * 10].map(Math.round)
  const solutions = x.solutionProbe === undefined || x.solutions.length < 2 ? [] : x.solutions
  const [solution] = solutions
  return Object.entries({
    secrets: secret,
    signers,
    narrow,
    keys: [...secret, ...narrow, ...signers, ...narrowEcc],
    users: secret.slice(0, users),
    first,
    second,
    third,
    // With few keys of a wide scope, others count sessions beside them.
    fourth: secret[3] ?? counted[0] ?? first,
    narrowSecond: (secret.length < 3 ? counted[0] : null) ?? second,
    narrowThird: secret[2] ?? counted[1] ?? third,
    user: first,
    // With two brief ones, a storm begins at as many sessions as a user may have; the second one has an odd number of them before.
    storms: [second, first].map((who, at) => ({ who, before: sessionsBefore + at })).slice(0, storms),
    usersOfBriefPairs: [...new Set([third, second])],
    // One with few sessions, because a user at the limit has no free session to race for.
    racer: narrow.find((one) => one === 'solution-key') ?? secret[3] ?? first ?? 'root',
    // One that gets few other pairs.
    keeper: narrow.find((one) => one === 'solution-key') ?? secret.at(-1) ?? null,
    latePairs: [],
    // Tells ages of sessions apart.
    apart: () => `${x.apartMs}ms`,
    ...Object.fromEntries(caller.left),
    other: secret[1] ?? null,
    last: secret.at(-1) ?? null,
    signer: signers[0] ?? null,
    signatures: signaturesOf(secret, signers),
    created: () => [...x.names.keys()].filter((name) => isOwnKey(x, name) && keyOf(x, name)?.ended === undefined),
    creators: [
      'root',
      { hmac: 'root' },
      ...signers.slice(0, 1).map((who) => ({ ecc: who })),
      ...secret.slice(1).map((who) => ({ basic: who })),
    ],
    ofOneScope: ofOneScope(x),
    addresses: x.addresses.slice(1).map(({ name }) => name),
    neighbours: neighbours(x.addresses[0]?.seen ?? ''),
    apikey: apikeyScope(x) ?? [],
    scheme: x.state().terms.scheme,
    extra: ['expiresIn:15000'],
    probes: x.probes,
    sessionWords,
    wrongSecrets: [
      ...secret.slice(1, 2).map((other) => `$${other}.secret`),
      '',
      ...secret.slice(0, 1).map((who) => `$${who}.id`),
    ],
    solutions,
    beginnings: solution === undefined ? [] : [solution.slice(0, -1), solution.slice(0, 4)],
    sizes: longBodies,
    bodyChanges: changesOfBodies(),
    otherForms: otherForms(x),
    lifetimes: lifetimesAround(life, beyond),
    beyond: beyond.slice(1, 4),
    ...valuesOfTime(caller),
    ...endingsOf(caller),
  })
}

const sessionsBefore = 14

/** Authorization by signatures, of keys with and without a public key in turns. */
const signaturesOf = (secret: readonly string[], signers: readonly string[]): unknown[] =>
  Array.from({ length: Math.max(secret.length, signers.length) }, (_, at) => [
    ...secret.slice(at, at + 1).map((who) => ({ hmac: who })),
    ...signers.slice(at, at + 1).map((who) => ({ ecc: who })),
  ]).flat()

const sessionWords =
  'zulu mike alpha solution root yankee 10 9 apikey Bravo victor context 1 x token lima sierra echo default A quebec session 2 kilo'.split(
    ' ',
  )

/** Changes of a body after it was signed: first those that a server may make itself before it checks the signature. */
function changesOfBodies(): unknown[] {
  const operations = readDeviations()
  const changes = operations.fields
    .filter(({ field }) => ['signed-body', 'sent-body', 'mistake'].includes(field))
    .flatMap((field) => operations.changesOf(field))
    .filter(({ field, operation = '' }) => field !== 'mistake' || /^data\/with(out)?-body/.test(operation))
  const isRewriting = ({ field, operation = '' }: (typeof changes)[number]): boolean =>
    field === 'signed-body' && rewritings.has(operation)
  return changes
    .toSorted((one, two) => Number(isRewriting(two)) - Number(isRewriting(one)))
    .map((change) => alterOf(change))
}

/** Lifetimes of every size: what people write, what is near the lifetime of a refresh token, and what overflows. */
function lifetimesAround(life: number | null, beyond: readonly number[]): number[] {
  const sizes = [
    100, 250, 500, 900, 1000, 1500, 2500, 5000, 9999, 11_000, 12_000, 13_000, 15_000, 20_000, 30_000, 59_000, 60_000,
    61_000, 119_000, 300_000, 600_000, 900_000, 901_000, 1_800_000, 3_600_000, 3_601_000, 7_200_000, 43_200_000,
    86_400_000, 86_401_000,
  ]
  const around = life === null ? [] : [0.5, 0.9, 0.99].map((share) => Math.round(life * share))
  const edges = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 5000, 2 ** 32, 2 ** 32 + 5000, 1e10, 1e12, 1e13, 2 ** 53 - 1]
  return [...new Set([...sizes, ...around, ...beyond, ...edges])].filter((one) => one > 0).sort((a, b) => a - b)
}

/** Addresses next to ours, some far away, and some of the same digits with their dots in other places. */
function neighbours(own: string): string[] {
  const [a = '', b = '', c = '', d = ''] = own.split('.')
  const digits = own.replaceAll('.', '')
  const lengths = [1, 2, 3]
  const sameDigits = lengths
    .flatMap((i) => lengths.flatMap((j) => lengths.map((k) => [i, i + j, i + j + k])))
    .map(([i, j, k]) => [digits.slice(0, i), digits.slice(i, j), digits.slice(j, k), digits.slice(k)].join('.'))
    .filter((address) => address !== own && isAddress(address))
    .slice(0, 2)
  return [
    `${a}.${b}.${c}.${(Number(d) + 1) % 256}`,
    `${a}.${b}.${c}.${d}0`,
    `${a}.${b}.${c}.2${d}`,
    `${a}.${b}.${Number(c) + 1}.${d}`,
    `${a}.${Number(b) + 1}.${c}.${d}`,
    `${Number(a) === 10 ? 11 : 10}.${b}.${c}.${d}`,
    `${d}.${c}.${b}.${a}`,
    ...sameDigits,
    '0.0.0.0',
    '255.255.255.255',
    '203.0.113.7',
  ].filter((address) => address !== own && isAddress(address))
}

const isAddress = (text: string): boolean =>
  /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text) && text.split('.').every((part) => Number(part) < 256)

/** Forms of a right public key that are no PEM text of a public key. */
function otherForms(x: Explorer): string[] {
  const pem = x.names.get('spare')?.publicKey
  if (pem === undefined) return []
  const [, base64 = ''] = pem.split('\n')
  const bytes = publicKeyFromPem(pem)
  const labelled = (label: string): string => [`-----BEGIN ${label}-----`, base64, `-----END ${label}-----`].join('\n')
  return [base64, labelled('CERTIFICATE'), labelled('PRIVATE KEY'), toBase64(bytes), toHex(bytes)]
}

/** Each key without a public key that lists solutions, beside the next one of its scope. */
function ofOneScope(x: Explorer): (readonly [string, string])[] {
  const scopeOf = (who: string): readonly string[] => keyOf(x, who)?.scope ?? []
  const listing = [...x.names.keys()].filter(
    (who) => keyOf(x, who)?.publicKey === null && scopeOf(who).includes('solution'),
  )
  return [...groupBy(listing, (who) => scopeOf(who).join(' ')).values()].flatMap((group) =>
    group.length < 2 ? [] : group.map((who, at): [string, string] => [who, group[at + 1] ?? group[0] ?? who]),
  )
}

/** A server may let refresh tokens live until a fixed time centuries ahead; the clock is not moved as far. */
const longestLifeMs = 400 * 86_400_000

/** Pauses that depend on how long refresh tokens live, where the clock can be moved. */
function valuesOfTime({ x }: Caller) {
  const reported = x.state().refreshLifetimeMs
  const life = reported !== null && reported > 0 && reported <= longestLifeMs ? reported : 0
  const ofLife = { half: Math.floor(life * 0.5), more: Math.floor(life * 0.6), afterUse: life - 500_000 }
  return {
    refreshLife: life < 500_000 ? [] : [ofLife],
    lifeOfDays: life < 172_800_000 ? [] : [ofLife],
    hours: x.clock.controlled ? ['61m', '26h'] : [],
  }
}

/** The keys to disable and to delete, one of each kind. */
function endingsOf({ x, keyring, waysToEndKeys }: Caller) {
  const kinds = [keyring.secret, [...keyring.ecc, ...keyring.narrowEcc]].map((keys) =>
    keys.filter((name) => isOwnKey(x, name)),
  )
  const endings = waysToEndKeys.flatMap(({ requirement }, at) =>
    kinds.flatMap((keys) => {
      // Between two of them there is one that must live on, because a server may end the key behind the right one.
      const key = keys.at(-1 - 2 * at) ?? keys.at(-1 - at)
      return key === undefined
        ? []
        : [{ key, way: requirement === 'keys/can-be-deleted' ? 'cleanup' : 'probe:disable' }]
    }),
  )
  return {
    endings,
    ended: endings.map(({ key }) => key),
    disabled: endings.flatMap(({ key, way }) => (way === 'cleanup' ? [] : [key])),
  }
}

/** Forms that a server may bring a body into before it checks the signature. */
const rewritings: ReadonlySet<string> = new Set([
  'compact',
  'trimmed',
  'without-white-space',
  'crlf-to-lf',
  'lf-to-crlf',
  'composed',
  'decomposed',
  'compatibility-composed',
  'lower-case',
  'ascii-escapes',
  'ascii-only',
  'ascii-left',
  'members-sorted',
  'line-feed-appended',
])
