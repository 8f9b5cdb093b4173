import { makeKey } from '../../../mock-server/create-context.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import {
  type BrokenRows,
  eighth,
  fifth,
  first,
  fourth,
  namedKeyId,
  ninth,
  own,
  ownEach,
  second,
  tenth,
  third,
  twelfth,
} from '../operators.ts'
import { hour, oneTurn, race, someMicrotasks, tornApart, twoMs } from './changes.ts'

export const limits: BrokenRows = {
  'limits/ten-keys': {
    ...ownEach(['hmac', 'ecc', 'token'], (means) => [
      `keys-created-by-${means}-without-a-limit`,
      { keyLimit: (used) => (used === means ? 1000 : 10) },
    ]),
    'eleven-keys-created': own({ keyLimit: () => 11 }),
    'any-number-of-keys-created': own({ keyLimit: () => 1000 }),
    'keys-with-a-public-key-not-counted': own({
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter((key) => key.publicKey === undefined),
          profile,
        ),
    }),
    'key-limit-races': own({ beforeEffect: race('key') }),
    'keys-with-public-key-not-counted': first({
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter((key) => !key.publicKey),
          profile,
        ),
    }),
    'keys-of-same-name-counted-once': first({
      keysCounted: (all, profile) => {
        const live = all.filter((key) => !key.deleted)
        const firsts = live.filter((key, index) => live.findIndex((one) => one.name === key.name) === index)
        return right.keysCounted(firsts, profile)
      },
    }),
    'no-key-limit-for-ecc-callers': first({
      keyLimit: (means) => (means === 'ecc' ? 100 : right.keyLimit(means)),
    }),
    'keys-counted-two-ms-before-creation': first(tornApart('key', twoMs)),
    'keys-counted-a-turn-before-creation': first(tornApart('key', oneTurn)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'keys-counted-some-microtasks-before-creation': first(tornApart('key', someMicrotasks)),
    'keys-of-one-name-counted-once': second({
      keysCounted: (all, profile) =>
        right.keysCounted([...new Map(all.map((key) => [key.name, key])).values()], profile),
    }),
    // The keys are counted for the key that creates them.
    'each-creator-has-ten-places': second((seen, creators = new Map<string, string>()) => {
      const creator = () => namedKeyId(seen.request) ?? seen.pair?.key.id ?? ''
      return {
        storedKey: (key) => {
          creators.set(key.id, creator())
          return key
        },
        keysCounted: (all, profile) =>
          right.keysCounted(
            all.filter((key) => key.initial || creators.get(key.id) === creator()),
            profile,
          ),
      }
    }),
    'key-created-by-ecc-signature-takes-no-place': second((seen, uncounted = new Set<string>()) => ({
      storedKey: (key) => {
        const creator = seen.named
        if (creator?.publicKey !== undefined) uncounted.add(key.id)
        return key
      },
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter(({ id }) => !uncounted.has(id)),
          profile,
        ),
    })),
    'keys-counted-for-each-scope': third((seen) => ({
      keysCounted: (all, profile) => {
        const wanted = seen.scope.join(' ')
        return right.keysCounted(
          all.filter(({ scope }) => scope.join(' ') === wanted),
          profile,
        )
      },
    })),
    'repeated-public-key-takes-no-place': third({
      keysCounted: (all, profile) =>
        right.keysCounted([...new Map(all.map((key) => [key.publicKey ?? key.id, key])).values()], profile),
    }),
    // The keys are counted at a replica that is a second behind.
    'keys-created-within-a-second-not-counted': fourth((seen) => ({
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter(({ createdMs }) => createdMs <= seen.nowMs - 1000),
          profile,
        ),
    })),
    'no-key-limit-for-token-of-session': fifth((seen) => ({
      keyLimit: () => (seen.pair?.session === undefined ? 10 : 1000),
    })),
    // The limit is a limit for each hour.
    'keys-older-than-an-hour-not-counted': eighth((seen) => ({
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter(({ createdMs }) => seen.nowMs < createdMs + hour),
          profile,
        ),
    })),
    // The way back from an error lowers a count that was not raised.
    'creation-refused-for-its-params-frees-a-place': ninth((_seen, freed = 0) => ({
      paramTaken: (method, _name, _value, valid) => {
        if (method === 'manager/createApiKey' && !valid) freed += 1
        return valid
      },
      keysCounted: (all, profile) => right.keysCounted(all, profile) - freed,
    })),
    // Both the method and a trigger of the database lower the count.
    'deleted-key-frees-two-places': tenth({
      keysCounted: (all, profile) => right.keysCounted(all, profile) - all.filter(({ deleted }) => deleted).length,
    }),
    'keys-without-apikey-scope-not-counted': tenth({
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.filter(({ scope }) => scope.some((word) => /^apikey$/i.test(word))),
          profile,
        ),
    }),
    // A refresh does not copy the limit to the new token.
    'no-key-limit-for-refreshed-tokens': twelfth((seen) => ({
      keyLimit: (means) => ((seen.pair?.generation ?? 0) > 0 ? Number.POSITIVE_INFINITY : right.keyLimit(means)),
    })),
  },
  'limits/ten-can-be-made': {
    'eight-keys-created': own({ keyLimit: () => 8 }),
    'five-keys-created': own({ keyLimit: () => 5 }),
    'token-callers-make-eight-keys': first({
      keyLimit: (means) => (means === 'token' ? 8 : right.keyLimit(means)),
    }),
    // "At most 10 API keys can be created", so that ten can
    'key-made-by-created-key-takes-two-places': third((seen, keys = new Set<string>()) => ({
      storedKey: (key) => {
        const creator = seen.caller
        if (creator?.initial === false) keys.add(key.id)
        return key
      },
      keysCounted: (all, profile) =>
        right.keysCounted(
          all.flatMap((key) => (keys.has(key.id) ? [key, key] : [key])),
          profile,
        ),
    })),
    // "At most 10 API keys can be created", and "publicKey" is a param of each creation
    'tenth-key-with-public-key-refused': fourth((seen) => ({
      publicKey: (pem, profile) => {
        const { state } = seen.context
        return right.keysCounted([...state.keys.values()], profile) >= 9 ? undefined : right.publicKey(pem, profile)
      },
    })),
    // A proxy sends a slow call again; the caller never hears of the other key, which takes a place.
    'every-third-creation-made-twice': twelfth((seen, memory = { creations: 0 }) => ({
      storedKey: (key) => {
        const { context } = seen
        memory.creations += 1
        const text = () => context.random(16).toString('hex')
        const { name, scope, createdMs } = key
        const copy = makeKey({ id: text(), secret: text(), name, scope, createdMs })
        if (memory.creations % 3 === 0) context.state.keys.set(copy.id, copy)
        return key
      },
    })),
  },
  'limits/eleventh-refused': {
    'eleventh-key-created-and-the-oldest-removed': own({ beyondKeyLimit: () => 'oldest-removed' }),
    'eleventh-key-created-on-second-try': first((_seen, refusals = 0) => ({
      beyondKeyLimit: () => {
        refusals += 1
        return refusals % 2 === 0 ? 'created' : 'refused'
      },
    })),
  },
  'limits/earlier-keys-kept': {
    'first-key-lost-to-a-new-one': own({
      keysLostToNewKey: (all) => all.filter((key) => !key.initial && !key.deleted).slice(0, 1),
    }),
    'newest-key-lost-to-a-refusal': own({
      keysLostToRefusal: (all) => all.filter((key) => !key.initial && !key.deleted).slice(-1),
    }),
    'initial-key-lost-to-a-refusal': own({ keysLostToRefusal: (all) => all.filter(({ initial }) => initial) }),
    'initial-key-lost-to-the-tenth': own({
      keysLostToNewKey: (all) =>
        all.filter(({ initial, deleted }) => !initial && !deleted).length < 9
          ? []
          : all.filter(({ initial }) => initial),
    }),
    'public-keys-lost-to-a-refusal': own({
      keysLostToRefusal: (all) => all.filter(({ publicKey }) => publicKey !== undefined),
    }),
    'key-lost-to-a-namesake': own({
      keysLostToNewKey: (all, created) => all.filter(({ initial, name }) => !initial && name === created.name),
    }),
    'refused-creation-ends-newest-key': first({
      keysLostToRefusal: (all) => all.slice(-1),
    }),
    'new-key-replaces-key-of-same-name': first({
      keysLostToNewKey: (all, created) => all.filter((key) => !key.initial && key.name === created.name),
    }),
    'new-key-replaces-key-with-same-public-key': first({
      keysLostToNewKey: (all, created) =>
        all.filter((key) => !key.initial && key.publicKey !== undefined && key.publicKey === created.publicKey),
    }),
    // "A key has no time-to-live", and ten can be created
    'fifth-public-key-ends-the-first': fourth({
      keysLostToNewKey: (all, created) => {
        const live = all.filter((key) => key.publicKey !== undefined && !key.deleted)
        return created.publicKey !== undefined && live.length >= 4 ? live.slice(0, 1) : []
      },
    }),
    // The column of the public key is written by the name of the key.
    'public-key-lost-when-secret-key-takes-its-name': eighth((seen, emptied = new Set<string>()) => ({
      storedKey: (key) => {
        const sameName = [...seen.context.state.keys.values()].filter(({ name }) => name === key.name)
        if (key.publicKey === undefined) for (const { id } of sameName) emptied.add(id)
        return key
      },
      eccTakenFor: (key) => right.eccTakenFor(key) && !emptied.has(key.id),
    })),
  },
}
