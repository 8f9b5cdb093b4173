import { apiKeyMethods, createApiKey } from './api-keys.ts'
import { auth } from './auth.ts'
import type { Method } from './method.ts'
import { areaMethods, contextMethods, solutionMethods } from './solutions.ts'

/** Every method by its name: the three of the document, then the extensions. A Map, so that `__proto__` is not a method. */
export const methods: ReadonlyMap<string, Method> = new Map(
  [createApiKey, auth, ...solutionMethods, ...apiKeyMethods, ...contextMethods, ...areaMethods].map((method) => [
    method.name,
    method,
  ]),
)
