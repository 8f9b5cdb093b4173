/** Numbers and names of the document that several folders need. */

/** The scheme word of signatures, unless a service uses another (part 5.1). */
export const defaultScheme = 'svc-hmac-sha256'

/** The path of every call below the base URL (part 1). */
export const callPath = '/api'

/** The three methods that the document describes (part 4). */
const documentedMethods: readonly string[] = ['manager/createApiKey', 'manager/auth', 'solution/listSolutions']

/** The document describes these methods, and so the type of their results. No other type is judged. */
export function isDocumentedMethod(method: string): boolean {
  return documentedMethods.includes(method)
}

/** The maximum number of API keys (part 8). */
export const keyLimit = 10
/** How many places for keys stay free where a run may not fill them: one for others, and one in case the initial key counts. */
export const sparePlaces = 2

/** The maximum number of sessions of a user (part 2). */
export const sessionLimit = 16
