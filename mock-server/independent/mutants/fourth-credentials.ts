import { rules as right } from '../../rules.ts'
import { paramsOf, readMembers, withMembers } from '../calls.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Reads `%41` as `A`; a text with a broken escape stays as it is. */
function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Parts 4.2 and 5.2: Basic credentials, and the credentials of a grant. */
export const fourthCredentialMutants: IndependentMutant[] = [
  {
    // "Not usable with an API key that has a public key; such a key accepts only ECC signatures"
    id: 'public-key-takes-basic-until-its-first-signature',
    breaks: 'basic/public-key-refused',
    about: 'The first signature activates the public key.',
    create: () => {
      const seen = watch(() => ({ active: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          meansTaken: (means) => {
            const key = callerOf(seen)
            if (means === 'ecc' && key !== undefined) seen.memory.active.add(key.id)
            return true
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'basic' && !seen.memory.active.has(key.id)),
        },
      }
    },
  },
  {
    // "with an ED25519 PEM-encoded public key (then only ECC signatures may be used with it)"
    id: 'public-key-created-by-ecc-call-gets-grants',
    breaks: 'grants/public-key-refused',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (isSignedWithPublicKey(seen)) seen.memory.keys.add(key.id)
            return key
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'grant' && seen.memory.keys.has(key.id)),
        },
      }
    },
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'last-of-several-basic-credentials-taken',
    breaks: 'basic/malformed',
    about: 'A header with commas is read as several headers that a proxy has joined.',
    create: () => ({
      rules: { basicPair: (encoded) => right.basicPair(encoded.split(', Basic ').at(-1) ?? '') },
    }),
  },
  {
    // "`BASE64(<api_key_id>:<api_key_secret>)`": the secret itself
    id: 'percent-escapes-in-basic-credentials-decoded',
    breaks: 'basic/credentials',
    about: 'The credentials are parsed like those in a URL.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(received, expected, means) ||
          (means === 'basic' && right.secretMatches(decodeEscapes(received), expected, means)),
      },
    }),
  },
  {
    // "apiKeyId | string | yes": the id of the key
    id: 'key-id-in-capitals-taken-in-grant',
    breaks: 'grants/key-id',
    about: 'The collation of the column ignores case.',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          find(id) ?? (means === 'grant' ? all().find((key) => key.id.toLowerCase() === id.toLowerCase()) : undefined),
      },
    }),
  },
  {
    // "apiKeyId | string | yes": the id of the key
    id: 'blanks-behind-key-id-ignored-in-grant',
    breaks: 'grants/key-id',
    about: 'The collation of the column pads with blanks.',
    create: () => ({
      rules: { keyNamed: (id, find, _all, means) => find(means === 'grant' ? id.trimEnd() : id) },
    }),
  },
  {
    // "Two grant types, selected by `grantType`"
    id: 'grant-with-a-refresh-token-beside-it-refreshes',
    breaks: 'grants/grant-type',
    about: 'The presence of the refresh token selects, not the grant type.',
    create: () => ({
      around: (handle) => (request) => {
        const { grantType, refreshToken } = paramsOf(request)
        if (grantType !== 'api_key_credentials' || refreshToken === undefined) return handle(request)
        const call = readMembers(request.body.toString('utf8'))
        return handle(withMembers(request, { ...call, params: { grantType: 'refresh_token', refreshToken } }))
      },
    }),
  },
  {
    // "apiKeySecret | string | yes": the secret of the key that apiKeyId names
    id: 'secret-of-newest-created-key-gets-grants-of-its-creator',
    breaks: 'grants/credentials',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ secrets: new Map<string, string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator !== undefined) seen.memory.secrets.set(creator.id, key.secret)
            return key
          },
          secretsOf: (key, _all, means) => [
            key.secret,
            ...(means === 'grant' ? [seen.memory.secrets.get(key.id) ?? key.secret] : []),
          ],
        },
      }
    },
  },
  {
    // "API key states named in the interface: active, disabled, deleted"
    id: 'disabled-key-gets-tokens-that-work',
    breaks: 'keys/can-be-disabled',
    about: 'The state of a key is looked at only where a call shows the key itself.',
    create: () => ({
      rules: { disabledKeyWorks: (_key, means) => means === 'grant' || means === 'token' },
    }),
  },
  {
    // "`<api_key_id>:<api_key_secret>`": the whole secret, each time
    id: 'basic-secret-compared-by-its-half-after-five-right-ones',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'A caller who comes often is found in a cache by the id and the first half of the secret.',
    create: () => {
      const seen = watch(() => ({ times: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const isRight = right.secretMatches(received, expected, means)
            if (means !== 'basic') return isRight
            const times = seen.memory.times.get(expected) ?? 0
            if (isRight) seen.memory.times.set(expected, times + 1)
            return isRight || (times >= 5 && received.startsWith(expected.slice(0, expected.length / 2)))
          },
        },
      }
    },
  },
]
