import { SuiteError } from '../errors.ts'
import type { Auth } from '../language/fixture-types.ts'
import type { Random } from '../random.ts'
import { type Mistake, needsBase64Marks, nonceWithBase64Marks, sign } from '../signer/sign.ts'
import type { TargetSettings } from '../target.ts'
import { alterWords, base64, basicWords } from './alter.ts'
import { UnusableValue } from './unusable-value.ts'

/** The caller: an API key with its secret or private key. */
export interface Credential {
  id: string
  /** Undefined for a key with a public key, unless the server returned one anyway. */
  secret?: string
  /** 32 bytes, for a key with a public key. */
  seed?: Uint8Array
}

interface AuthorizeInput {
  /** Finds the credential: by the name of a test key, or a kept { id, secret } itself. */
  auth: Auth
  method: string
  body: Uint8Array
  settings: TargetSettings
  /** The whole URL of the call; only mistakes sign it. */
  url: string
  /** The word before a token. */
  tokenPrefix: string
  /** The server's time in ms. */
  serverNowMs: number
  random: Random
  /** How a key with a secret is authorized where the fixture leaves it open. */
  keyWay: 'basic' | 'hmac'
  credential(member: unknown): Credential
}

interface Authorization {
  /** Undefined: send no Authorization header. */
  header?: string
  nonce?: string
  timestamp?: string
}

/** 18 bytes give 24 characters of BASE64 without padding, so the open question of padded nonces does not arise. */
const nonceBytes = 18

/** Builds the Authorization header of a step (part 5). */
export function authorize(input: AuthorizeInput): Authorization {
  const { auth } = input
  if (auth === 'none') return {}
  if ('header' in auth) return { header: auth.header }
  if ('token' in auth) {
    if (typeof auth.token !== 'string') throw new UnusableValue('token', auth.token)
    return { header: tokenHeader(alterText(auth.token, auth.but), input.tokenPrefix) }
  }
  if ('basic' in auth) return { header: `Basic ${basicValue(input, auth)}` }
  if ('key' in auth) {
    const credential = input.credential(auth.key)
    if (credential.seed !== undefined) return signed(input, credential, 'ed25519', {})
    const { id, secret = '' } = credential
    return input.keyWay === 'basic'
      ? { header: `Basic ${base64(`${id}:${secret}`)}` }
      : signed(input, credential, 'secret', {})
  }
  const [member, kind] = 'hmac' in auth ? [auth.hmac, 'secret' as const] : [auth.ecc, 'ed25519' as const]
  return signed(input, input.credential(member), kind, (auth.but ?? {}) as Mistake)
}

function tokenHeader(token: string, prefix: string): string {
  return prefix === '' ? token : `${prefix} ${token}`
}

/** Applies a word of `alterWords`; without a word the text stays. */
export function alterText(text: string, word: unknown): string {
  if (word === undefined) return text
  const change = alterWords[String(word)]
  if (change === undefined) throw new Error(`unknown word "${String(word)}" for an alteration`)
  const changed = change(text)
  // Some servers return an empty secret for a key with a public key. It is wrong with every word.
  if (changed === text && text !== '') {
    throw new SuiteError('fixture', `Cannot make the alteration "${String(word)}": it changes nothing in this text`)
  }
  return changed
}

function basicValue(input: AuthorizeInput, auth: { basic: string; but?: unknown }): string {
  const { id, secret = '' } = input.credential(auth.basic)
  const { but } = auth
  if (typeof but === 'object' && but !== null && 'secret-of' in but) {
    return base64(`${id}:${input.credential(but['secret-of']).secret ?? ''}`)
  }
  const whole = basicWords[String(but)]
  return whole === undefined ? base64(`${id}:${alterText(secret, but)}`) : whole(id, secret)
}

function signed(
  input: AuthorizeInput,
  credential: Credential,
  kind: 'secret' | 'ed25519',
  mistake: Mistake,
): Authorization {
  const key =
    kind === 'secret'
      ? { kind, secret: credential.secret ?? '' }
      : {
          kind,
          seed: credential.seed ?? new TextEncoder().encode((credential.secret ?? '').padEnd(32, '0').slice(0, 32)),
        }
  const timestamp = String(Math.round(input.serverNowMs))
  const request = {
    scheme: input.settings.scheme,
    keyId: credential.id,
    key,
    method: input.method,
    uri: input.settings.signedUri,
    url: input.url,
    body: input.body,
    timestamp,
  }
  const nextNonce = (): string => freshNonce(input.random)
  const nonce = needsBase64Marks(mistake) ? nonceWithBase64Marks(request, nextNonce) : nextNonce()
  return { header: sign({ ...request, nonce }, mistake).header, nonce, timestamp }
}

function freshNonce(random: Random): string {
  return btoa(String.fromCharCode(...random.bytes(nonceBytes)))
}
