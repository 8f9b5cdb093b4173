/** Upper bounds of everything a caller can make the server remember. */
export interface Bounds {
  nonces: number
  /** Access and refresh tokens together. */
  tokens: number
  /** Records of keys, deleted ones included. */
  keys: number
  /** Solutions, and contexts. */
  records: number
  headerBytes: number
  connections: number
  /** From the first byte to the end of a request, in ms. */
  requestMs: number
}

export const defaultBounds: Bounds = {
  nonces: 200_000,
  tokens: 200_000,
  keys: 10_000,
  records: 10_000,
  headerBytes: 16 * 1024,
  connections: 10_000,
  requestMs: 30_000,
}
