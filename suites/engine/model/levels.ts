/** The level of every requirement that the model cites; a test compares it with spec/requirements.yaml. */
import type { Level } from './types.ts'

const implied = new Set([
  'envelope/request-members',
  'envelope/unknown-method',
  'envelope/malformed-answered',
  'keys/scope-held',
  'keys/create-params',
  'keys/public-key-material',
  'keys/unique-ids',
  'keys/unique-secrets',
  'keys/apikey-scope',
  'signatures/hmac-encoding',
  'signatures/ecc-encoding',
  'signatures/ecc-malleability',
  'signatures/header-exact',
  'signatures/scheme',
  'basic/malformed',
  'grants/params',
  'grants/grant-type',
  'grants/expiry-order',
  'tokens/exact',
  'tokens/refresh-is-no-access',
  'tokens/access-is-no-refresh',
  'refresh/scopes-kept',
  'refresh/address-kept',
  'refresh/session-kept',
  'scopes/area-opens',
  'scopes/within-key',
  'sessions/removed-refresh',
  'limits/ten-can-be-made',
  'limits/eleventh-refused',
  'limits/earlier-keys-kept',
])

export const levelOf = (requirement: string): Level => (implied.has(requirement) ? 'implied' : 'must')
