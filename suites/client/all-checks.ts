import type { Check } from './check.ts'
import { errorIn200, foreignId, malformedSurvived } from './checks/answers.ts'
import { grantParams, noAuthorization, publicKeySignsOnly } from './checks/keys-and-grants.ts'
import { keysAndSessionsReused } from './checks/limits.ts'
import { newestUsed, oldPairGone, refreshNoScope } from './checks/refresh-document.ts'
import { lateLoser, notANewGrant } from './checks/refresh-grants.ts'
import { lostAnswer, noExpiredTokenSent, noLoop, singleFlight } from './checks/refresh-practice.ts'
import { envelope, postJson } from './checks/request.ts'
import { createKeyOnce, nonceUnique, retryAfterKept, signedAnew, skewSurvived } from './checks/retries.ts'
import { addressAndSession, grantedIsRead, least, lifetime } from './checks/scopes.ts'
import { notAfterRedirect, notInUrl, refreshTokenOnlyToAuth } from './checks/secrets.ts'
import { signatureChecks } from './checks/signature.ts'

/** Every check, in the order of the report. */
export const checks: readonly Check[] = [
  postJson,
  envelope,
  ...signatureChecks,
  publicKeySignsOnly,
  noAuthorization,
  grantParams,
  refreshNoScope,
  oldPairGone,
  newestUsed,
  lifetime,
  addressAndSession,
  notANewGrant,
  noExpiredTokenSent,
  singleFlight,
  lateLoser,
  lostAnswer,
  noLoop,
  retryAfterKept,
  signedAnew,
  createKeyOnce,
  nonceUnique,
  skewSurvived,
  notInUrl,
  notAfterRedirect,
  refreshTokenOnlyToAuth,
  errorIn200,
  foreignId,
  malformedSurvived,
  least,
  grantedIsRead,
  keysAndSessionsReused,
]
