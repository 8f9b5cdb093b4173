/** Why a call was refused: the words a client sees, and the stage that only the journal and --explain show. */
interface Refusal {
  code: number
  message: string
  data?: unknown
  /** The HTTP status where the profile maps refusals to one. */
  httpStatus: 400 | 401 | 403 | 404
  /** Path-like, `signature/mac`: where the call was stopped. */
  stage: string
  /** False where the request could not be read, so that no id can be echoed. */
  idKnown: boolean
  /** What the server computed for a refused signature; only with `explain`. */
  computed?: { dataToSign: string; signature?: string }
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

const refusals = {
  parse: { code: -32700, message: 'Parse error', httpStatus: 400 },
  method: { code: -32601, message: 'Method not found', httpStatus: 404 },
  params: { code: -32602, message: 'Invalid params', httpStatus: 400 },
  unauthorized: { code: 24879, message: 'Unauthorized', httpStatus: 401 },
  scope: { code: 24878, message: 'Insufficient scope', httpStatus: 403 },
  keyLimit: { code: 24877, message: 'Api keys limit exceeded', httpStatus: 403 },
  credentials: { code: 24876, message: 'Invalid credentials', httpStatus: 401 },
  unknownKey: { code: 24875, message: 'Api key does not exist', httpStatus: 401 },
  token: { code: 21, message: 'Invalid token', httpStatus: 401 },
  denied: { code: 48, message: 'Access denied', httpStatus: 403 },
} as const

type RefusalKind = keyof typeof refusals
export const refusalKinds = Object.keys(refusals) as RefusalKind[]

/** A refusal of the given kind; `data` goes to the client, `stage` does not. */
export function refuse(kind: RefusalKind, stage: string, data?: unknown): { ok: false; refusal: Refusal } {
  const refusal: Refusal = { ...refusals[kind], stage, idKnown: kind !== 'parse' }
  if (data !== undefined) refusal.data = data
  return { ok: false, refusal }
}

export function succeed<T>(value: T): { ok: true; value: T } {
  return { ok: true, value }
}
