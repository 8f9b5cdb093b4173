import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 5.2, and the ways around authorization as a whole. */
export const basicMutants: IndependentMutant[] = [
  {
    id: 'third-part-of-basic-credentials-ignored',
    breaks: 'basic/credentials',
    about: 'The text is split at every colon, so `id:secret:more` is accepted.',
    create: () => ({
      rules: {
        basicPair: (encoded) => {
          const pair = right.basicPair(encoded)
          return pair && { id: pair.id, secret: pair.secret.split(':')[0] ?? '' }
        },
      },
    }),
  },
  {
    id: 'text-behind-basic-credentials-ignored',
    breaks: 'basic/malformed',
    create: () => ({ rules: { basicPair: (encoded) => right.basicPair(encoded.split(/[ ,]/)[0] ?? '') } }),
  },
  {
    id: 'basic-credentials-in-plain-text-accepted',
    breaks: 'basic/malformed',
    create: () => ({
      rules: {
        basicPair: (encoded) => {
          const [id, secret] = encoded.split(':')
          return id !== undefined && secret !== undefined ? { id, secret } : right.basicPair(encoded)
        },
      },
    }),
  },
  {
    id: 'basic-credentials-decoded-twice',
    breaks: 'basic/malformed',
    about: 'BASE64 of BASE64 is decoded until there is a colon.',
    create: () => ({
      rules: {
        basicPair: (encoded) =>
          right.basicPair(encoded) ?? right.basicPair(Buffer.from(encoded, 'base64').toString('latin1')),
      },
    }),
  },
  {
    id: 'key-id-ends-at-nul-in-basic',
    breaks: 'basic/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          right.keyNamed(means === 'basic' ? (id.split('\0')[0] ?? '') : id, find, all, means),
      },
    }),
  },
  {
    id: 'letter-case-of-key-id-ignored-in-basic',
    breaks: 'basic/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          means === 'basic' ? all().find((key) => key.id.toLowerCase() === id.toLowerCase()) : find(id),
      },
    }),
  },
  {
    id: 'secret-normalised-in-basic',
    breaks: 'basic/credentials',
    about: 'Full-width digits count as digits, because the secret is compared in its NFKC form.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(means === 'basic' ? received.normalize('NFKC') : received, expected, means),
      },
    }),
  },
  {
    id: 'letter-case-of-secret-ignored-in-basic',
    breaks: 'basic/credentials',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          means === 'basic'
            ? received.toLowerCase() === expected.toLowerCase()
            : right.secretMatches(received, expected, means),
      },
    }),
  },
  {
    id: 'empty-secret-accepted-in-basic',
    breaks: 'basic/credentials',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          (means === 'basic' && !received) || right.secretMatches(received, expected, means),
      },
    }),
  },
  {
    id: 'key-id-accepted-as-secret-in-basic',
    breaks: 'basic/credentials',
    create: () => ({
      rules: { secretsOf: (key, _all, means) => (means === 'basic' ? [key.secret, key.id] : [key.secret]) },
    }),
  },
  {
    id: 'secret-of-key-with-same-name-accepted-in-basic',
    breaks: 'basic/credentials',
    needsState: true,
    create: () => ({
      rules: {
        secretsOf: (key, all, means) =>
          means === 'basic'
            ? all()
                .filter(({ name }) => name === key.name)
                .map(({ secret }) => secret)
            : [key.secret],
      },
    }),
  },
  {
    id: 'refresh-token-accepted-as-secret-in-basic',
    breaks: 'basic/credentials',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretsOf: (key, _all, means) => {
            if (means !== 'basic') return [key.secret]
            const tokens = [...seen.context.state.tokens.values()]
            const own = tokens.filter(({ kind, pair }) => kind === 'refresh' && pair.key === key)
            return [key.secret, ...own.map(({ text }) => text)]
          },
        },
      }
    },
  },
  {
    id: 'secret-behind-24-characters-ignored-on-key-creation',
    breaks: 'basic/credentials',
    about: 'manager/createApiKey compares only the first 24 characters of the secret in Basic credentials.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) =>
            means === 'basic' && seen.bodyHas('manager/createApiKey')
              ? received.slice(0, 24) === expected.slice(0, 24)
              : right.secretMatches(received, expected, means),
        },
      }
    },
  },
  {
    id: 'ninth-wrong-secret-lets-in',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'The counter of wrong secrets of a key wraps after eight.',
    create: () => {
      const seen = watch(() => ({ wrong: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            if (right.secretMatches(received, expected, means)) return true
            if (means !== 'basic') return false
            const count = ((seen.memory.wrong.get(expected) ?? 0) + 1) % 9
            seen.memory.wrong.set(expected, count)
            return count === 0
          },
        },
      }
    },
  },
  {
    id: 'basic-secret-checked-once-a-second',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'Within a second of a right secret of a key, any secret is accepted for it.',
    create: () => {
      const seen = watch(() => ({ rightMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const { rightMs } = seen.memory
            const matches = right.secretMatches(received, expected, means)
            if (means !== 'basic') return matches
            if (matches) rightMs.set(expected, seen.nowMs)
            return matches || seen.nowMs - (rightMs.get(expected) ?? Number.NEGATIVE_INFINITY) < 1000
          },
        },
      }
    },
  },
  {
    id: 'public-key-secret-accepted-on-key-creation',
    breaks: 'basic/public-key-refused',
    about: 'Basic credentials of a key with a public key let in to manager/createApiKey.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'basic' && seen.bodyHas('manager/createApiKey')),
        },
      }
    },
  },
  {
    id: 'empty-authorization-header-lets-in',
    breaks: 'authorization/required',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { forgives: (stage) => stage === 'authorization/none' && seen.request.headers.authorization === '' },
      }
    },
  },
  {
    id: 'unknown-scheme-lets-in',
    breaks: 'authorization/required',
    about: 'A header with a scheme word that the server does not know is passed on as authorized.',
    create: () => ({ rules: { forgives: (stage) => stage === 'authorization/scheme' } }),
  },
  {
    id: 'connection-stays-authorized',
    breaks: 'authorization/required',
    needsState: true,
    about: 'After an authorized call, the next calls on the same connection need no Authorization header.',
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          meansTaken: () => {
            const { connection } = seen.request
            if (connection !== undefined) seen.memory.connections.add(connection)
            return true
          },
          forgives: (stage) =>
            stage === 'authorization/none' && seen.memory.connections.has(seen.request.connection ?? 0),
        },
      }
    },
  },
  {
    id: 'wrong-secret-on-authorized-connection-lets-in',
    breaks: 'basic/credentials',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          meansTaken: () => {
            const { connection } = seen.request
            if (connection !== undefined) seen.memory.connections.add(connection)
            return true
          },
          forgives: (stage) => stage === 'basic/secret' && seen.memory.connections.has(seen.request.connection ?? 0),
        },
      }
    },
  },
]
