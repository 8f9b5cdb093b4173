import type { Check } from './check.ts'
import { answerChecks } from './checks/answers.ts'
import { keyAndGrantChecks } from './checks/keys-and-grants.ts'
import { limitChecks } from './checks/limits.ts'
import { refreshDocumentChecks } from './checks/refresh-document.ts'
import { refreshGrantChecks } from './checks/refresh-grants.ts'
import { refreshPracticeChecks } from './checks/refresh-practice.ts'
import { requestChecks } from './checks/request.ts'
import { retryChecks } from './checks/retries.ts'
import { scopeChecks } from './checks/scopes.ts'
import { secretChecks } from './checks/secrets.ts'
import { signatureChecks } from './checks/signature.ts'

/** Every check, in the order of the report. */
export const checks: readonly Check[] = [
  ...requestChecks,
  ...signatureChecks,
  ...keyAndGrantChecks,
  ...refreshDocumentChecks,
  ...refreshGrantChecks,
  ...refreshPracticeChecks,
  ...scopeChecks,
  ...retryChecks,
  ...secretChecks,
  ...answerChecks,
  ...limitChecks,
]
