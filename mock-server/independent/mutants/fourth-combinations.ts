import { rules as right } from '../../rules.ts'
import { paramsOf, scopeOf } from '../calls.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Plain mistakes that show for one combination of key, way to authorize, method, restriction or generation. */
export const fourthCombinationMutants: IndependentMutant[] = [
  {
    // "scope | array of string | yes"
    id: 'null-as-scope-of-grant-taken',
    breaks: 'grants/params',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/auth' && name === 'scope' && value === null),
      },
    }),
  },
  {
    // "scope | array of string | Scopes granted"
    id: 'result-of-grant-to-created-key-tells-scope-of-key',
    breaks: 'grants/result-scope',
    create: () => ({
      rules: {
        grantResult: (result, { key }) => (key.initial ? result : { ...result, scope: key.scope }),
      },
    }),
  },
  {
    // "stream | Token limited to the Stream API"
    id: 'stream-token-of-third-pair-lists-solutions',
    breaks: 'scopes/stream',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (scope === 'stream' && area === 'solution' && seen.pair !== undefined && seen.pair.generation >= 2),
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions"
    id: 'sixteenth-session-with-address-removes-the-first',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionLimit: () => (scopeOf(seen.request).some((word) => word.startsWith('ipAddr:')) ? 15 : 16),
        },
      }
    },
  },
  {
    // "Tokens are bound to the session; access lasts for the session's lifetime"
    id: 'removed-session-with-address-refreshes',
    breaks: 'sessions/removed-refresh',
    needsState: true,
    about: 'The refresh leaves the session that is gone.',
    create: () => ({
      rules: {
        removedSessionWorks: (use, pair) => use === 'refresh' && pair.addresses.length > 0,
        refreshedSession: ({ session }) => (session?.removed ? undefined : session),
      },
    }),
  },
  {
    // "a new pair of access token and refresh token is issued"
    id: 'refresh-token-stays-the-same-after-access-expiry',
    breaks: 'refresh/pair-differs',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenText: (kind, fresh, old) =>
            kind === 'refresh' && old !== undefined && seen.nowMs >= old.accessExpiryMs ? old.refreshToken : fresh,
        },
      }
    },
  },
  {
    // "The nonce in the signed data and in the header is the same value"
    id: 'ecc-over-the-nonce-in-lower-case-accepted',
    breaks: 'signatures/nonce',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => [
            ...right.dataToSign(parts),
            ...(isSignedWithPublicKey(seen) ? right.dataToSign({ ...parts, nonce: parts.nonce.toLowerCase() }) : []),
          ],
        },
      }
    },
  },
  {
    // "the second field is the literal `1`"
    id: 'version-not-checked-on-key-creation',
    breaks: 'signatures/version',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          versionTaken: (version) => right.versionTaken(version) || isMethod(seen.request, 'manager/createApiKey'),
        },
      }
    },
  },
  {
    // "HMAC signature length | first 20 bytes of the HMAC-SHA256 output"
    id: 'whole-mac-taken-on-key-creation',
    breaks: 'signatures/hmac-length',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          macTexts: (bytes, mac, profile) => [
            ...right.macTexts(bytes, mac, profile),
            ...(isMethod(seen.request, 'manager/createApiKey') ? [mac.toString('base64')] : []),
          ],
        },
      }
    },
  },
  {
    // "params | object | yes | `{}` when there are none"
    id: 'empty-params-refused-in-ecc-calls',
    breaks: 'envelope/empty-params',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramsTaken: (value, profile) =>
            right.paramsTaken(value, profile) &&
            !(isSignedWithPublicKey(seen) && Object.keys(paramsOf(seen.request)).length === 0),
        },
      }
    },
  },
  {
    // "result | object"
    id: 'result-of-listing-is-a-list-for-created-keys',
    breaks: 'envelope/result-object',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          resultMember: (method, result) =>
            method === 'solution/listSolutions' && callerOf(seen)?.initial === false
              ? Object.values(result as object)
              : result,
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-not-enforced-in-sessions',
    breaks: 'expires-in/enforced',
    about: 'It is reported, and the default lifetime is in force.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) =>
            pair.session === undefined
              ? right.accessExpired(pair, nowMs)
              : nowMs >= pair.issuedMs + seen.context.profile.accessLifeMs,
        },
      }
    },
  },
  {
    // "Sent without an Authorization header; credentials are in the params"
    id: 'grant-of-session-needs-authorization-header',
    breaks: 'grants/no-authorization-header',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, _value, valid) =>
            valid &&
            !(
              method === 'manager/auth' &&
              name === 'scope' &&
              scopeOf(seen.request).some((word) => word.startsWith('session:')) &&
              seen.request.headers.authorization === undefined
            ),
        },
      }
    },
  },
  {
    // "API key states named in the interface: active, disabled, deleted"
    id: 'disabled-key-works-again-when-it-is-deleted',
    breaks: 'keys/can-be-deleted',
    needsState: true,
    about: 'The two marks are in one column and cancel each other out.',
    create: () => ({
      rules: {
        deletedKeyWorks: (key) => !key.enabled,
        disabledKeyWorks: (key) => key.deleted,
      },
    }),
  },
]
