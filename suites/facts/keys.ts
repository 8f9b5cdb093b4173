/** Part 4.1: which keys can be created. Each takes one of ten places until it is removed. */
import { ed25519KeyPair, publicKeyToPem } from '../engine/signer/pem.ts'
import type { Profile } from '../targets/bundled.ts'
import { type Caller, type Reply, signed } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import { acceptance, type KeyProbe, type KeyProbeOptions, keyProbe, type ProbeResult, resultOf, word } from './fact.ts'
import { type KeyMaker, nameOf, ordinaryScope, sessionWord } from './key-maker.ts'

const seedBytes = 32

async function names(_caller: Caller, maker: KeyMaker, { first }: KeyProbeOptions): Promise<ProbeResult> {
  if (first.key === null) return { facts: [] }
  const again = await maker.create({ name: first.key.name, scope: ordinaryScope })
  const isSame = again.key?.id === first.key.id
  const members = Object.keys(first.reply.result as object)
  const others = members.filter((member) => member !== 'id' && member !== 'secret')
  return {
    facts: [
      word(
        'keys/create-result-extras',
        'further members of a created key',
        others.join(', ') || 'none',
        `the result has ${members.join(', ')}`,
      ),
      word(
        'keys/name-rules',
        'a key name used again',
        again.key === null ? 'refused' : isSame ? 'gives the same key' : 'gives another key',
        describeReply(again.reply),
      ),
    ],
  }
}

/** The area of part 5.4 that no example of part 2 shows. */
const unshownArea = 'thread'

async function scopes(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const create = (what: string, words: readonly string[]) =>
    maker.create({ name: nameOf(caller, what), scope: words }).then(({ reply }) => reply)
  const unknown = await create('unknown', ['solution', 'svcUnknown'])
  const unshown = unknown.outcome === 'accepted' ? null : await create('unshown', ['solution', unshownArea])
  const empty = await create('empty-scope', [])
  return resultOf(
    { unknownKeyScopes: unknownScopes(unknown, unshown) },
    acceptance('keys/unknown-scopes', 'an unknown word in the scope of a key', unknown),
    ...(unshown === null ? [] : [acceptance('keys/unknown-scopes', `"${unshownArea}" in the scope of a key`, unshown)]),
    acceptance('keys/empty-scope', 'a key with an empty scope', empty),
  )
}

function unknownScopes(unknown: Reply, unshown: Reply | null): Profile['unknownKeyScopes'] {
  if (unknown.outcome === 'accepted') return 'kept'
  return unshown?.outcome === 'accepted' ? 'refused' : 'all-but-shown-refused'
}

/** Tries all three together first: if they are accepted, one place is enough. */
async function restrictions(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const words = ['expiresIn:60000', 'ipAddr:127.0.0.1', sessionWord(caller, 'of-a-key')]
  const create = async (what: string, some: readonly string[]) =>
    (await maker.create({ name: nameOf(caller, what), scope: ['solution', ...some] })).reply
  const all = await create('restricted', words)
  const facts: ProbeResult['facts'] = []
  for (const one of words) {
    const reply = all.outcome === 'accepted' ? all : await create(`restricted-${words.indexOf(one)}`, [one])
    const [form] = one.split(':')
    facts.push(acceptance('keys/expires-in-scope', `${form}: in the scope of a key`, reply))
  }
  return { facts }
}

/** A neutral point: anyone can sign for it. */
const neutralPoint = Uint8Array.from({ length: 32 }, (_, index) => (index === 0 ? 1 : 0))

async function publicKeys(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const { publicKeyPem } = ed25519KeyPair(caller.random.bytes(seedBytes))
  const create = (what: string, publicKey: string) =>
    maker.create({ name: nameOf(caller, what), scope: ['solution'], publicKey })
  const plain = await create('public', publicKeyPem)
  if (plain.key === null) return { facts: [] }
  const again = await create('public-again', publicKeyPem)
  const other = ed25519KeyPair(caller.random.bytes(seedBytes)).publicKeyPem
  const spaced = await create('public-crlf', `${other.replaceAll('\n', '\r\n')}\r\n`)
  const weak = await create('public-weak', publicKeyToPem(neutralPoint))
  const { secret } = plain.key
  const form = secret === null ? 'none' : secret === '' ? 'an empty text' : `a text of ${secret.length} characters`
  return resultOf(
    {
      repeatedPublicKeys: again.key === null ? 'refused' : 'accepted',
      weakPublicKeys: weak.key === null ? 'refused' : 'accepted',
    },
    word('keys/secret-of-public-key', 'secret of a key with a public key', form, 'one created key'),
    acceptance('keys/public-key-repeated', 'a public key used again', again.reply),
    acceptance('keys/pem-variants', 'a PEM with CRLF', spaced.reply),
    acceptance('keys/small-order', 'a public key of small order', weak.reply),
  )
}

async function aboveCreator(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const creator = (await maker.create({ name: nameOf(caller, 'creator'), scope: ['apikey'] })).key
  if (creator === null || creator.secret === null) return { facts: [] }
  const auth = signed(caller, { keyId: creator.id, secret: creator.secret })
  const { reply, key } = await maker.create({ name: nameOf(caller, 'above'), scope: ['solution'] }, auth)
  return resultOf(
    { keyScopeAboveCreator: key === null ? 'refused' : 'kept' },
    acceptance('keys/scope-above-creator', 'a key with more scope than its creator', reply),
  )
}

const longName = 129

async function nameLengths(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const long = await maker.create({ name: nameOf(caller, 'long').padEnd(longName, 'x'), scope: ['solution'] })
  const empty = await maker.create({ name: '', scope: ['solution'] })
  return {
    facts: [
      acceptance('keys/name-rules', `a key name of ${longName} characters`, long.reply),
      acceptance('keys/name-rules', 'an empty key name', empty.reply),
    ],
  }
}

/** The most useful ones first: without a way to remove keys the ten places do not last for all of them. */
export const keyProbes: readonly KeyProbe[] = [
  keyProbe('names of keys used again', { calls: 1, refusals: 0, keys: 1 }, names),
  keyProbe('scope above the creator', { calls: 2, refusals: 1, keys: 2 }, aboveCreator, { needsSecret: true }),
  keyProbe('scopes of keys', { calls: 3, refusals: 1, keys: 2 }, scopes),
  keyProbe('public keys', { calls: 4, refusals: 1, keys: 4 }, publicKeys),
  keyProbe('restrictions in the scope of a key', { calls: 4, refusals: 2, keys: 3 }, restrictions),
  keyProbe('lengths of key names', { calls: 2, refusals: 2, keys: 2 }, nameLengths),
]
