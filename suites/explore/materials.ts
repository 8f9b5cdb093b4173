/** Public keys of other kinds, and texts that are not public keys; keys/public-key-material. */

import { toBase64, toHex } from '../engine/signer/bytes.ts'
import { publicKeyFromPem } from '../engine/signer/pem.ts'
import { create, hmac } from './calls.ts'
import { expectRefused } from './expect-calls.ts'
import { byRoot } from './keyring.ts'
import type { Caller } from './table.ts'

const lines = (label: string, ...base64: string[]): string =>
  [`-----BEGIN ${label}-----`, ...base64, `-----END ${label}-----`].join('\n')

const foreignKeys: { readonly [name: string]: string } = {
  'an X25519 key': lines('PUBLIC KEY', 'MCowBQYDK2VuAyEA1dtaBSQWjNb82n3wDQR2DaNHR8RjR+NjhFtCXDrIAlI='),
  'an Ed448 key': lines(
    'PUBLIC KEY',
    'MEMwBQYDK2VxAzoA5rIVl2Yu7X0hDnUQi4yhkx2GI56ehZwCMLul65SjeugyyETK',
    'JsuX84PuPnQN9bOqlyar025Er4sA',
  ),
  'a P-256 key': lines(
    'PUBLIC KEY',
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEk9N2D1xLruvw9G06LyOPpPQi6w0b',
    '27I55le2/carw0UNPsQMMirYNvrG/hu/zT+ms3PVtzH2EQ+uTrheNgc+GQ==',
  ),
  'an RSA key': lines(
    'PUBLIC KEY',
    'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDEXf3zDtkZfXLKUdy7sOHsdNep',
    '2Gqx93zgVLuWLoZWx4SRQy/utUfbPRgSfavGr1w1IEqhiQCWUIs2iFMF3iJNBY19',
    'muIr9qoNQD49OAIqUsSn5FdP2aXsUvwtX7nqxO8bo8wvAhvvhBGK340Oxrwcctcc',
    'oUO/femJAASW7zJzRQIDAQAB',
  ),
  'a private key': lines('PRIVATE KEY', 'MC4CAQAwBQYDK2VwBCIEIH6kzn7Pb87c1mIHeY97GmQNUS3FftWYGD3AGmzZdoeV'),
  'no BASE64': lines('PUBLIC KEY', 'not base64'),
  nothing: lines('PUBLIC KEY'),
  'no PEM': 'public key',
  'an OpenSSH key': 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'a JWK': '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
}

/** Forms of a right public key that are no PEM text of a public key. */
function otherForms(pem: string): string[] {
  const [, base64 = ''] = pem.split('\n')
  const bytes = publicKeyFromPem(pem)
  return [base64, lines('CERTIFICATE', base64), lines('PRIVATE KEY', base64), toBase64(bytes), toHex(bytes)]
}

/** Creations with an invalid public key. */
export async function materials({ x, keyring }: Caller): Promise<void> {
  x.script = 'materials'
  const spare = x.names.get('spare')?.publicKey
  const others = spare === undefined ? [] : otherForms(spare)
  for (const [at, publicKey] of [...Object.values(foreignKeys), ...others].entries()) {
    if (!keyring.keys || x.state().created > 9) return
    const auth = at % 2 === 0 || keyring.secret[0] === undefined ? byRoot(x) : hmac(keyring.secret[0])
    await expectRefused(x, create(auth, { name: 'deviation-$unique', scope: ['solution'], publicKey }))
  }
}
