import type { WireAnswer } from '../engine/target.ts'
import { proxyErrorCode } from './proxy.ts'

/**
 * Describes a failed request.
 *
 * @param reused the connection carried an answer before, so it may have been closed in between
 */
export function noAnswer(error: unknown, reused: boolean): WireAnswer {
  const message = error instanceof Error ? error.message : String(error)
  // supertest puts the code of a refused connection only into the message.
  const named = /\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? ''
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : named
  if (code === proxyErrorCode) {
    const { isAway = false } = error as { isAway?: boolean }
    return { kind: 'none', reason: message, refusedConnection: isAway, stale: false }
  }
  return {
    kind: 'none',
    reason: sentences[code] ?? withoutPlaces(message),
    refusedConnection: code === 'ECONNREFUSED',
    stale: reused && (code === 'ECONNRESET' || code === 'EPIPE'),
  }
}

/** `0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert …:../deps/…` says where in OpenSSL; one part of it says what. */
function withoutPlaces(message: string): string {
  const [, what] = /:SSL routines:[^:]*:([^:]+)/.exec(message) ?? []
  return what === undefined ? message : `TLS failed: ${what}`
}

/** Whether the request failed because the time for the answer was up. */
export function lateAnswer(timeoutMs: number): WireAnswer {
  return {
    kind: 'none',
    reason: `no answer within ${timeoutMs} ms`,
    refusedConnection: false,
    stale: false,
    timedOut: true,
  }
}

const sentences: { [code: string]: string } = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was dropped without an answer',
  EPIPE: 'the connection was dropped while the request was sent',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  HPE_INVALID_CONSTANT: 'the answer is not HTTP',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EPROTO: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'it requires a client certificate (tls.cert and tls.key in the target file name one)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed (tls.ca in the target file names one to trust)',
}
