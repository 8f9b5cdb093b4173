import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 4.2: the grant of api_key_credentials. */
export const grantMutants: IndependentMutant[] = [
  {
    id: 'white-space-around-secret-ignored-in-grant',
    breaks: 'grants/credentials',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(means === 'grant' ? received.trim() : received, expected, means),
      },
    }),
  },
  {
    id: 'secret-ends-at-nul-in-grant',
    breaks: 'grants/credentials',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(means === 'grant' ? (received.split('\0')[0] ?? '') : received, expected, means),
      },
    }),
  },
  {
    id: 'secret-behind-32-characters-ignored-in-grant',
    breaks: 'grants/credentials',
    about: 'The database column of the secret has 32 characters, and longer values are cut.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(means === 'grant' ? received.slice(0, expected.length) : received, expected, means),
      },
    }),
  },
  {
    id: 'beginning-of-key-id-suffices-in-grant',
    breaks: 'grants/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          means === 'grant' && id.length >= 8 ? all().find((key) => key.id.startsWith(id)) : find(id),
      },
    }),
  },
  {
    id: 'name-accepted-as-key-id-in-grant',
    breaks: 'grants/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          find(id) ?? (means === 'grant' ? all().find((key) => !key.initial && key.name === id) : undefined),
      },
    }),
  },
  {
    id: 'access-token-accepted-as-secret-in-grant',
    breaks: 'grants/credentials',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretsOf: (key, _all, means) => {
            if (means !== 'grant') return [key.secret]
            const tokens = [...seen.context.state.tokens.values()]
            const own = tokens.filter(({ kind, pair }) => kind === 'access' && pair.key === key)
            return [key.secret, ...own.map(({ text }) => text)]
          },
        },
      }
    },
  },
  {
    id: 'initial-secret-accepted-for-created-key-in-grant',
    breaks: 'grants/credentials',
    create: () => ({
      rules: {
        secretsOf: (key, all, means) =>
          means === 'grant' ? [key.secret, ...all().flatMap((one) => (one.initial ? one.secret : []))] : [key.secret],
      },
    }),
  },
  {
    id: 'secret-not-checked-within-second-of-other-grant',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'A wrong secret is accepted when any key had a grant in the same second of the clock.',
    create: () => {
      const seen = watch(() => ({ grantSecond: -1 }))
      const second = () => Math.floor(seen.nowMs / 1000)
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const matches = right.secretMatches(received, expected, means)
            if (means !== 'grant') return matches
            if (matches) seen.memory.grantSecond = second()
            return matches || seen.memory.grantSecond === second()
          },
        },
      }
    },
  },
  {
    id: 'sixth-wrong-secret-in-a-row-lets-in',
    breaks: 'grants/credentials',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ wrongInARow: 0 }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const matches = right.secretMatches(received, expected, means)
            if (means !== 'grant') return matches
            seen.memory.wrongInARow = matches ? 0 : seen.memory.wrongInARow + 1
            return matches || seen.memory.wrongInARow === 6
          },
        },
      }
    },
  },
  {
    id: 'grant-taken-for-public-key-without-apikey-scope',
    breaks: 'grants/public-key-refused',
    about: 'The kind of key is looked at only for keys that may create keys.',
    create: () => ({
      rules: {
        secretTakenFor: (key, means) =>
          right.secretTakenFor(key, means) ||
          (means === 'grant' && !key.scope.some((scope) => scope.toLowerCase() === 'apikey')),
      },
    }),
  },
  {
    id: 'key-created-by-signature-gets-no-grant',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'Keys created in a signed call can be used with Basic credentials and signatures only.',
    create: () => {
      const seen = watch(() => ({ children: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const header = seen.request.headers.authorization ?? ''
            if (header.startsWith(seen.context.profile.scheme)) seen.memory.children.add(key.id)
            return key
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) && !(means === 'grant' && seen.memory.children.has(key.id)),
        },
      }
    },
  },
  {
    id: 'letter-case-of-grant-type-ignored',
    breaks: 'grants/grant-type',
    create: () => ({
      rules: {
        grantType: ({ grantType }) => (typeof grantType === 'string' ? grantType.toLowerCase() : grantType),
      },
    }),
  },
  {
    id: 'grant-type-in-a-list-accepted',
    breaks: 'grants/grant-type',
    about: 'A list of one grant type becomes the grant type when it is turned into text.',
    create: () => ({ rules: { grantType: ({ grantType }) => String(grantType) } }),
  },
  {
    id: 'missing-grant-type-guessed-from-refresh-token',
    breaks: 'grants/grant-type',
    create: () => ({
      rules: {
        grantType: ({ grantType, refreshToken }) =>
          grantType === undefined && refreshToken !== undefined ? 'refresh_token' : grantType,
      },
    }),
  },
  {
    id: 'scope-as-text-accepted-in-grant',
    breaks: 'grants/params',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/auth' && name === 'scope' && typeof value === 'string' && value !== ''),
      },
    }),
  },
  {
    id: 'numbers-in-scope-skipped-in-grant',
    breaks: 'grants/params',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid ||
          (method === 'manager/auth' &&
            name === 'scope' &&
            Array.isArray(value) &&
            value.some((item) => typeof item === 'string')),
      },
    }),
  },
  {
    id: 'expiry-as-text-with-expires-in',
    breaks: 'grants/result-access-token-expiry',
    create: () => ({
      rules: {
        grantResult: (result, pair) =>
          pair.expiresInMs === undefined ? result : { ...result, accessTokenExpiry: String(result.accessTokenExpiry) },
      },
    }),
  },
  {
    id: 'refresh-expiry-with-fraction-in-session',
    breaks: 'grants/result-refresh-token-expiry',
    create: () => ({
      rules: {
        grantResult: (result, pair) =>
          pair.session === undefined ? result : { ...result, refreshTokenExpiry: result.refreshTokenExpiry + 0.5 },
      },
    }),
  },
  {
    id: 'single-scope-reported-as-text',
    breaks: 'grants/result-scope',
    create: () => ({
      rules: {
        grantResult: (result) => (result.scope.length === 1 ? { ...result, scope: result.scope[0] } : result),
      },
    }),
  },
  {
    id: 'token-type-in-lower-case-with-address',
    breaks: 'grants/result-token-type',
    create: () => ({
      rules: {
        grantResult: (result, pair) => (pair.addresses.length > 0 ? { ...result, tokenType: 'bearer' } : result),
      },
    }),
  },
  {
    id: 'initial-key-granted-without-stream',
    breaks: 'keys/initial-full-access',
    create: () => ({
      rules: { initialKeyScope: () => right.initialKeyScope().filter((scope) => scope !== 'stream') },
    }),
  },
  {
    id: 'access-token-reported-with-bearer-word-for-created-key',
    breaks: 'grants/result-access-token',
    create: () => ({
      rules: {
        grantResult: (result, { key }) =>
          key.initial ? result : { ...result, accessToken: `Bearer ${result.accessToken}` },
      },
    }),
  },
  {
    id: 'no-refresh-token-with-expires-in',
    breaks: 'grants/result-refresh-token',
    create: () => ({
      rules: {
        grantResult: (result, pair) => (pair.expiresInMs === undefined ? result : { ...result, refreshToken: null }),
      },
    }),
  },
]
