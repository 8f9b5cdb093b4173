import { describe, expect, test } from 'vitest'
import { partUnlessProof, turnUnlessProof } from '../self/proof-form.ts'
import { serverNamed } from '../self/server-named.ts'
import { bundledSettings, createProfile, type ServerOptions } from '../targets/bundled.ts'
import { type Caller, keyringOf } from './keyring.ts'
import { learnAddresses, learnSolution } from './preflight.ts'
import { fixedSessionNames, readWorlds } from './read-worlds.ts'
import { basic, create, list } from './step.ts'
import { brokenBy, foundIn, inWorld } from './test-findings.ts'

type Server = Omit<ServerOptions, 'clock'>
type Rules = NonNullable<ServerOptions['rules']>

/** That of the key which `foundIn` creates. */
const scope = ['apikey', 'solution', 'context']

/** Keys of each kind, our addresses and two solutions, as the preflight finds them. */
async function prepared({ x, ...caller }: Caller): Promise<Caller> {
  x.setSignatureClock(0, true)
  await learnAddresses(x, 'root', true)
  for (const name of ['ecc-a', 'ecc-solution', 'spare']) {
    x.names.set(name === 'spare' ? name : `${name}-own`, x.makeKeyPair())
    const own = { name, scope: name === 'ecc-a' ? scope : ['solution'], publicKey: `$${name}-own.publicKey` }
    if (name !== 'spare') await x.call(create(basic('root'), own, { as: name }))
  }
  await x.call(create(basic('root'), { name: 'by-token', scope }, { as: 'by-token' }))
  await x.call(create(basic('root'), { name: 'solution-key', scope: ['solution'] }, { as: 'solution-key' }))
  await learnSolution(x, 'root')
  const seen = await x.call(list(basic('root')))
  const result = seen?.answer.kind === 'accepted' ? (seen.answer.result as { list?: { id: string }[] }) : {}
  const solutions = (result.list ?? []).map(({ id }) => id).slice(0, 2)
  const keyring = keyringOf(x, { grants: true, keys: true, limits: true })
  return { ...caller, x: { ...x, solutions }, keyring }
}

/** The requirements that a server breaks in a world, and a text that says which laws were tried there. */
const shownIn = async (world: string, server: Server, values: { readonly [name: string]: unknown } = {}) => {
  let tried: ReadonlySet<string> = new Set()
  const run = async (caller: Caller): Promise<void> => {
    tried = caller.tried
    await inWorld(world, { who: 'by-basic', before: 14, time: 3_660_000, long: [], ...values })(await prepared(caller))
  }
  const { found } = await foundIn(server, run, { settings: bundledSettings([]) })
  return { broken: [...new Set(found.map(({ requirement }) => requirement))], laws: lawsTried(tried) }
}

/** @param tried the marks of the tries: the name of the law, a number, and what it was tried for */
function lawsTried(tried: ReadonlySet<string>): string {
  const isTried = (law: string): boolean =>
    [...tried].some((mark) => mark.startsWith(law) && /^ \d+ /.test(mark.slice(law.length)))
  const all = readWorlds().laws.map(({ law }) => law)
  const those = (laws: readonly string[]): string => laws.map((law) => `\n- ${law}`).join('') || ' none'
  return `Laws that were tried:${those(all.filter(isTried))}\nLaws that were not tried:${those(all.filter((law) => !isTried(law)))}`
}

const brokenIn = async (...asked: Parameters<typeof shownIn>) => (await shownIn(...asked)).broken

test('a failure says which laws were tried', async () => {
  const { laws } = await shownIn('kinds of pairs', {})
  const [tried, untried] = laws.split('\nLaws that were not tried:')
  expect(tried).toContain('\n- what lives works, and what ended stays ended\n')
  expect(untried).toContain('\n- an ended key gets no token\n')
  // It keeps the laws away.
  expect((await shownIn('missing params', {})).laws).toContain('Laws that were tried: none\n')
})

const worlds = [...readWorlds().worlds.keys()]
test.each(turnUnlessProof(worlds, 20, 0))('the reference server breaks nothing in the world "%s"', async (world) => {
  expect(await brokenIn(world, {})).toEqual([])
})

test('names of sessions that every exploration uses are known, since they may have been used before', () => {
  expect(fixedSessionNames()).toEqual(expect.arrayContaining(['0', 'null', '__proto__']))
})

const shown: readonly (readonly [world: string, id: string, requirement: string])[] = [
  ['credentials among the params', 'any-secret-among-params-taken', 'authorization/required'],
  ['wrong grants with a header', 'grant-takes-authorization-header-for-secret', 'grants/credentials'],
  ['every key', 'creation-with-public-key-needs-no-secret-in-basic', 'basic/credentials'],
  ['kinds of pairs', 'revoked-access-token-refreshes', 'tokens/access-is-no-refresh'],
  ['bodies in chunks', 'body-sent-in-chunks-signed-as-empty', 'signatures/request-body'],
  ['key limit', 'no-key-limit-for-refreshed-tokens', 'limits/ten-keys'],
  ['tokens of one solution', 'solution-id-not-held-in-session', 'scopes/solution-id'],
  ['tokens of one solution', 'refresh-widens-one-solution-to-any', 'refresh/scopes-kept'],
  ['beginnings of solutions', 'solution-id-compared-by-prefix', 'scopes/solution-id'],
  ['tokens beside others', 'calls-in-flight-share-the-address-of-the-last-one', 'addresses/bound'],
  ['wrong beside right', 'bare-call-beside-authorized-call-in-flight-let-in', 'authorization/required'],
  ['pairs at once', 'last-of-refreshes-in-flight-undoes-revocations-of-the-others', 'refresh/revokes-access'],
  ['many public keys', 'fifth-public-key-ends-the-first', 'keys/created-key-works'],
  ['many public keys', 'public-keys-of-one-creator-sign-for-each-other', 'signatures/key-id'],
  ['keys of rare scopes', 'stream-granted-to-key-with-store', 'scopes/within-key'],
  ['keys of rare scopes', 'any-solution-granted-to-key-of-one-solution', 'scopes/within-key'],
]
test.each(partUnlessProof(shown, 2, 5))('%s shows %s at %s', async (world, id, requirement) => {
  const { broken, laws } = await shownIn(world, await serverNamed(id))
  expect(broken, laws).toContain(requirement)
})

const sorted = (name: string | undefined): string | undefined => name && [...name].sort().join('')
const bringsBack: Rules = { disabledKeyWorks: (key) => key.deleted, deletedKeyWorks: (key) => !key.enabled }
const wrongRules: readonly (readonly [world: string, what: string, rules: Rules])[] = [
  ['similar session names', 'no session is named 0', { sessionCreated: (name) => name !== '0' }],
  ['similar session names', 'none is named like a member of objects', { sessionCreated: (name) => !(name in {}) }],
  ['similar session names', 'names with the same letters are one', { sessionName: sorted }],
  ['ended keys', 'a deleted key signs', { deletedKeyWorks: (_key, means) => means === 'ecc' }],
  ['ended keys', 'a disabled key gets tokens', { disabledKeyWorks: (_key, means) => means === 'grant' }],
  ['ended keys', 'a deletion brings a key back', bringsBack],
]
test.each(partUnlessProof(wrongRules, 2))('%s shows that %s', async (world, _what, rules) => {
  const { broken, laws } = await shownIn(world, { rules })
  expect(broken, laws).not.toEqual([])
})

describe('a session name used twice', () => {
  const effects = ['replaces', 'adds', 'joins'] as const
  test.each(partUnlessProof(effects, 1))('%s a session, and nothing is found', async (reusedSessionName) => {
    for (const sessionUser of partUnlessProof(['one-key', 'all-keys'] as const, 1)) {
      const profile = createProfile({ reusedSessionName, sessionUser })
      expect(await brokenIn('session names', { profile })).toEqual([])
    }
  })

  test('gives the second token no more than it asks for', async () => {
    let earlier: string[] = []
    const grantedScope = (requested: string[]): string[] => {
      const granted = [...requested, ...earlier]
      earlier = requested
      return granted
    }
    expect(await brokenIn('session names', { rules: { grantedScope } })).toContain('scopes/context')
  })
})

const conforming = [
  'writes-of-one-key-in-flight-together-conflict',
  'refresh-in-work-makes-the-others-come-again',
  'word-for-one-solution-opens-the-listing-too',
]
test.each(partUnlessProof(conforming, 1))('a conforming server is not accused: %s', async (id) => {
  const server = await serverNamed(id)
  for (const world of partUnlessProof(['refreshes at once', 'grants of one key', 'scopes'], 1))
    expect(await brokenIn(world, server)).toEqual([])
})

test('a server that accepts no body in chunks breaks nothing', async () => {
  const around: ServerOptions['around'] = (handle) => async (request) =>
    request.headers['transfer-encoding'] === undefined ? handle(request) : { status: 401, headers: {}, body: '' }
  expect(await brokenIn('bodies in chunks', { around })).toEqual([])
})

test('lifetimes cut to 32 bits are shown beside a smaller one that lasts longer', async () => {
  const profile = createProfile({ refreshLifeMs: 60 * 86_400_000 })
  const rules: Rules = { expiresInMs: (text: string) => Number(text) | 0 || undefined }
  expect(await brokenIn('lifetimes', { profile, rules })).toContain('expires-in/reported')
  expect(await brokenBy({ profile }, inWorld('lifetimes'))).toEqual([])
})
