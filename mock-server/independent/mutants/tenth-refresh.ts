import { effectiveKeyScope } from '../../scopes.ts'
import { pairsOf } from '../../token-state.ts'
import { isAccepted, meet, paramsOf } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Rows are read when a refresh arrives, and written back as a whole when it ends. */
const writeBackRows: Around = (handle, context) => async (request) => {
  const { grantType, refreshToken } = paramsOf(request)
  const token = context.state.tokens.get(String(refreshToken))
  if (grantType !== 'refresh_token' || token === undefined) return handle(request)
  const rows = pairsOf(context)
    .filter((pair) => pair.key === token.pair.key && pair !== token.pair)
    .map((pair) => ({ pair, accessRevoked: pair.accessRevoked, refreshRevoked: pair.refreshRevoked }))
  await meet()
  const answer = await handle(request)
  if (isAccepted(answer)) {
    for (const { pair, accessRevoked, refreshRevoked } of rows) Object.assign(pair, { accessRevoked, refreshRevoked })
  }
  return answer
}

/** Parts 3 and 4.2: refreshes and what they revoke. */
export const tenthRefreshMutants: IndependentMutant[] = [
  {
    // "a new pair is returned and the old pair is revoked": by each refresh
    id: 'last-of-refreshes-in-flight-undoes-revocations-of-the-others',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The pairs of a key are one record, which each refresh reads first and writes back at its end.',
    create: () => ({ around: writeBackRows }),
  },
  {
    // "a new pair of access token and refresh token is issued": with what the old one could do
    id: 'refresh-of-token-with-address-gives-scope-of-key',
    breaks: 'refresh/scopes-kept',
    about: 'The result still names the scopes of the old pair.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshedScope: ({ addresses, key, scope }) =>
            addresses.length === 0 ? scope : effectiveKeyScope(key.scope, seen.context.profile),
        },
      }
    },
  },
  {
    // "valid | `manager/auth` with `grantType` = `refresh_token` | the refresh token presented is valid"
    id: 'refreshed-pair-cannot-be-refreshed-in-its-first-second',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'A refresh token that was issued in the present second counts as not yet valid.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          issuedTokenWorks: (kind, { generation, issuedMs }) =>
            kind === 'access' || generation === 0 || seen.nowMs - issuedMs >= 1000,
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR.": the new one too
    id: 'refresh-in-session-loses-address',
    breaks: 'refresh/address-kept',
    about: 'The new pair takes its restrictions from the session, which knows no address.',
    create: () => ({
      rules: { refreshedAddresses: ({ session, addresses }) => (session === undefined ? addresses : []) },
    }),
  },
]
