import { apiKeyMethods } from './api-keys.ts'
import { areaMethods } from './areas.ts'
import { auth } from './auth.ts'
import { contextMethods } from './contexts.ts'
import { createApiKey } from './create-api-key.ts'
import type { Method } from './method.ts'
import { solutionMethods } from './solutions.ts'

/** Every method by its name: the three of the document, then the extensions. A Map, so that `__proto__` is not a method. */
export const methods: ReadonlyMap<string, Method> = new Map(
  [createApiKey, auth, ...solutionMethods, ...apiKeyMethods, ...contextMethods, ...areaMethods].map((method) => [
    method.name,
    method,
  ]),
)
