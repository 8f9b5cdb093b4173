import { toBase64, toHex, utf8 } from './bytes.ts'
import { md5, sha1, sha256 } from './hmac.ts'
import { publicKeyToPem } from './pem.ts'

const digests = { md5, sha1, sha256 }
const spellings = { Hex: toHex, Base64: toBase64 }

/**
 * Secrets that anyone can compute from a public key, by name such as `sha256PemHex`: the digest of the PEM as created or of the 32 raw
 * bytes, in hex or base64. A server that makes the secret of a key in such a way lets in everyone who knows the public key.
 */
export function derivedSecrets(publicKey: Uint8Array): { [name: string]: string } {
  const sources = { Pem: utf8(publicKeyToPem(publicKey)), Raw: publicKey }
  return Object.fromEntries(
    Object.entries(digests).flatMap(([digest, of]) =>
      Object.entries(sources).flatMap(([source, bytes]) =>
        Object.entries(spellings).map(([spelling, write]) => [`${digest}${source}${spelling}`, write(of(bytes))]),
      ),
    ),
  )
}
