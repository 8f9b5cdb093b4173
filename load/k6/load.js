/**
 * Load on a server of the authorization interface. SCENARIO is one of hmac, ecc, grants, refresh, mixed; docs/load.md lists the other
 * settings. The script creates nothing but token pairs.
 */
import exec from 'k6/execution'
import { callWithToken, grant, isSoonExpired, refresh, requireKeys, signedCall } from './calls.js'
import { options as loadOptions, settings } from './settings.js'

export { handleSummary } from './summary.js'

export const options = loadOptions

/** Checked here and not on import: `k6 archive` and `k6 inspect` read the script on machines that have no keys. */
export function setup() {
  requireKeys(settings.scenario)
}

export function hmac() {
  signedCall('hmac')
}

export function ecc() {
  signedCall('ecc')
}

export function grants() {
  grant()
}

/** One iteration: a pair is granted and renewed again and again; the last access token is used. A refusal ends the chain. */
export function refreshChain() {
  let pair = grant()
  for (let link = 0; link < settings.chain && pair !== undefined; link += 1) pair = refresh(pair)
  if (pair !== undefined) callWithToken(pair)
}

let heldPair

/** Of 20 iterations 10 are signed with HMAC, 4 with ECC (with HMAC when there is no such key), 4 use a token, 1 is a grant, 1 a chain. */
export function mixed() {
  // Not iterationInTest: of two generators one would get only the even turns.
  const turn = exec.scenario.iterationInInstance % 20
  if (turn < 10) return hmac()
  if (turn < 14) return settings.eccKeyId ? ecc() : hmac()
  if (turn < 18) return tokenCall()
  return turn === 18 ? grants() : refreshChain()
}

function tokenCall() {
  if (heldPair === undefined || isSoonExpired(heldPair)) heldPair = grant()
  if (heldPair !== undefined && !callWithToken(heldPair)) heldPair = undefined
}
