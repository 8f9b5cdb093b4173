import { makeKey } from '../../../mock-server/context.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { onNewKey } from '../events.ts'
import { oneTurn, race, someMicrotasks, tornApart } from '../in-flight.ts'
import { every, forKeysMade, unless, withCreators } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, each, hour, marks, type Seen } from '../rows.ts'
import { managesKeys } from './pairs.ts'

/** Other keys take the places. */
const placesOf = (keys: (all: ApiKey[]) => ApiKey[]): Change => ({
  keysCounted: (all, profile) => right.keysCounted(keys(all), profile),
})

/** Only some keys take a place. */
const counting =
  (takes: (key: ApiKey, seen: Seen) => boolean) =>
  (seen: Seen): Change =>
    placesOf((all) => all.filter((key) => takes(key, seen)))

const live = (all: ApiKey[]): ApiKey[] => all.filter(({ deleted }) => !deleted)
const liveCreated = (all: ApiKey[]): ApiKey[] => live(all).filter(({ initial }) => !initial)
const initial = (all: ApiKey[]): ApiKey[] => all.filter((key) => key.initial)

export const limits: BrokenRows = {
  'limits/ten-keys': {
    ...each(['hmac', 'ecc', 'token'], (means) => [
      `keys-created-by-${means}-without-a-limit`,
      { keyLimit: (used) => (used === means ? 1000 : 10) },
    ]),
    'eleven-keys-created': { keyLimit: () => 11 },
    'keys-with-a-public-key-not-counted': counting(({ publicKey }) => publicKey === undefined),
    'keys-of-same-name-counted-once': by.first(
      placesOf((all) => [...new Map(live(all).map((key) => [key.name, key])).values()]),
    ),
    'keys-counted-a-turn-before-creation': by.first(tornApart('key', oneTurn)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'keys-counted-some-microtasks-before-creation': by.first(tornApart('key', someMicrotasks)),
    // The keys are counted for the key that creates them.
    'each-creator-has-ten-places': by.second(
      withCreators((creatorOf, seen) => counting((key) => key.initial || creatorOf(key) === seen.caller)(seen)),
    ),
    'key-created-by-ecc-signature-takes-no-place': by.second(
      forKeysMade('by-ecc', (made, seen) => counting((key) => !made(key))(seen)),
    ),
    'keys-counted-for-each-scope': by.third(counting(({ scope }, seen) => `${scope}` === `${seen.scope}`)),
    'repeated-public-key-takes-no-place': by.third(
      placesOf((all) => [...new Map(all.map((key) => [key.publicKey ?? key.id, key])).values()]),
    ),
    // The keys are counted at a replica that is a second behind.
    'keys-created-within-a-second-not-counted': by.fourth(
      counting(({ createdMs }, { nowMs }) => createdMs <= nowMs - 1000),
    ),
    'no-key-limit-for-token-of-session': by.fifth((seen) => ({
      keyLimit: () => (seen.pair?.session === undefined ? 10 : 1000),
    })),
    // The limit is a limit for each hour.
    'keys-older-than-an-hour-not-counted': by.eighth(counting(({ createdMs }, { nowMs }) => nowMs < createdMs + hour)),
    // The way back from an error lowers a count that was not raised.
    'creation-refused-for-its-params-frees-a-place': by.ninth((_seen, freed = 0) => ({
      paramTaken: (method, _name, _value, valid) => {
        if (method === 'manager/createApiKey' && !valid) freed += 1
        return valid
      },
      keysCounted: (all, profile) => right.keysCounted(all, profile) - freed,
    })),
    // Both the method and a trigger of the database lower the count.
    'deleted-key-frees-two-places': by.tenth({
      keysCounted: (all, profile) => right.keysCounted(all, profile) - all.filter(({ deleted }) => deleted).length,
    }),
    'keys-without-apikey-scope-not-counted': by.tenth(counting(managesKeys)),
    // A refresh does not copy the limit to the new token.
    'no-key-limit-for-refreshed-tokens': by.twelfth((seen) => ({
      keyLimit: (means) => ((seen.pair?.generation ?? 0) > 0 ? Number.POSITIVE_INFINITY : right.keyLimit(means)),
    })),
    'any-number-of-keys-created': { keyLimit: () => 1000 },
    'key-limit-races': { beforeEffect: race('key') },
  },
  'limits/ten-can-be-made': {
    'eight-keys-created': { keyLimit: () => 8 },
    'token-callers-make-eight-keys': by.first({ keyLimit: (means) => (means === 'token' ? 8 : right.keyLimit(means)) }),
    // "At most 10 API keys can be created", so that ten can
    'key-made-by-created-key-takes-two-places': by.third(
      forKeysMade('by-created-key', (made) => placesOf((all) => [...all, ...all.filter(made)])),
    ),
    // "At most 10 API keys can be created", and "publicKey" is a param of each creation
    'tenth-key-with-public-key-refused': by.fourth((seen) => ({
      publicKey: (pem, profile) =>
        right.keysCounted(seen.keys, profile) >= 9 ? undefined : right.publicKey(pem, profile),
    })),
    // A proxy sends a slow call again; the caller never hears of the other key, which takes a place.
    'every-third-creation-made-twice': by.twelfth((seen, creations = counts()) =>
      onNewKey(({ name, scope, createdMs }) => {
        const text = () => seen.context.random(16).toString('hex')
        const copy = makeKey({ id: text(), secret: text(), name, scope, createdMs })
        if (creations() % 3 === 0) seen.state.keys.set(copy.id, copy)
      }),
    ),
    'five-keys-created': { keyLimit: () => 5 },
  },
  'limits/eleventh-refused': {
    'eleventh-key-created-and-the-oldest-removed': { beyondKeyLimit: () => 'oldest-removed' },
    'eleventh-key-created-on-second-try': by.first(every(2, 'beyondKeyLimit', () => 'created' as const)),
  },
  'limits/earlier-keys-kept': {
    'first-key-lost-to-a-new-one': { keysLostToNewKey: (all) => liveCreated(all).slice(0, 1) },
    'initial-key-lost-to-the-tenth': {
      keysLostToNewKey: (all) => (liveCreated(all).length < 9 ? [] : initial(all)),
    },
    'public-keys-lost-to-a-refusal': {
      keysLostToRefusal: (all) => all.filter(({ publicKey }) => publicKey !== undefined),
    },
    'key-lost-to-a-namesake': {
      keysLostToNewKey: (all, created) => all.filter(({ initial, name }) => !initial && name === created.name),
    },
    'new-key-replaces-key-with-same-public-key': by.first({
      keysLostToNewKey: (all, created) =>
        all.filter((key) => !key.initial && key.publicKey !== undefined && key.publicKey === created.publicKey),
    }),
    // "A key has no time-to-live", and ten can be created
    'fifth-public-key-ends-the-first': by.fourth({
      keysLostToNewKey: (all, created) => {
        const known = live(all).filter(({ publicKey }) => publicKey !== undefined)
        return created.publicKey !== undefined && known.length >= 4 ? known.slice(0, 1) : []
      },
    }),
    // The column of the public key is written by the name of the key.
    'public-key-lost-when-secret-key-takes-its-name': by.eighth((seen, emptied = marks()) => ({
      ...onNewKey((key) => {
        for (const { id, name } of seen.keys) if (key.publicKey === undefined && name === key.name) emptied.add(id)
      }),
      ...unless('eccTakenFor', ({ id }) => emptied.has(id)),
    })),
    'initial-key-lost-to-a-refusal': { keysLostToRefusal: initial },
    'newest-key-lost-to-a-refusal': { keysLostToRefusal: (all) => liveCreated(all).slice(-1) },
  },
}
