import { usageError } from '../../engine/errors.ts'
import { seedFromPkcs8 } from '../../engine/signer/pem.ts'
import type { RootKey } from '../../engine/target.ts'
import type { RunFlags } from './flags.ts'
import { type Environment, given, readText } from './inputs.ts'
import type { TargetFile } from './target-file/parse.ts'

/**
 * Reads the key of a run: id and secret from the first place that names them (flags, environment, target file).
 *
 * @throws SuiteError (`usage`) if no key or two keys are given, or a file cannot be used
 */
export function rootKey(
  url: string,
  flags: RunFlags,
  env: Environment,
  { file, beside }: { file: TargetFile; beside: (path: string) => string },
): RootKey {
  const id = flags.keyId ?? given(env.SVC_KEY_ID) ?? file.root?.id
  // The first place that names a secret or a private key wins.
  const found =
    oneSource(
      flags.keySecret,
      flags.keySecretFile,
      flags.privateKey,
      '"--key-secret", "--key-secret-file", "--private-key"',
    ) ??
    oneSource(
      given(env.SVC_KEY_SECRET),
      given(env.SVC_KEY_SECRET_FILE),
      given(env.SVC_PRIVATE_KEY_FILE),
      'SVC_KEY_SECRET, SVC_KEY_SECRET_FILE, SVC_PRIVATE_KEY_FILE',
    ) ??
    oneSource(
      file.root?.secret,
      undefined,
      file.root?.privateKeyFile === undefined ? undefined : beside(file.root.privateKeyFile),
      '"secret", "privateKeyFile"',
    )
  if (id === undefined || found === null) {
    const missing = id === undefined ? 'Name the API key' : 'Give the secret of the API key'
    const how = 'set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file'
    throw usageError(`${missing} to use at "${url}": ${how}`)
  }
  if (found.kind === 'secret') return { id, kind: 'secret', secret: found.value }
  const text = readText(found.value, found.kind === 'secret-file' ? 'the key secret' : 'the private key')
  if (found.kind === 'secret-file') {
    const secret = text.replace(/\r?\n$/, '')
    if (secret === '') throw usageError(`Cannot use the key secret "${found.value}": the file is empty`)
    return { id, kind: 'secret', secret }
  }
  try {
    seedFromPkcs8(text)
  } catch (cause) {
    throw usageError(`Cannot use the private key "${found.value}": ${(cause as Error).message}`, { cause })
  }
  return { id, kind: 'ed25519', privateKey: text }
}

/** Returns the one source of a secret; undefined without any. */
function oneSource(
  secret: string | undefined,
  secretFile: string | undefined,
  privateKeyFile: string | undefined,
  names: string,
): { kind: 'secret' | 'secret-file' | 'private-key'; value: string } | null {
  const ways = [
    { kind: 'secret', value: secret },
    { kind: 'secret-file', value: secretFile },
    { kind: 'private-key', value: privateKeyFile },
  ] as const
  const found = ways.flatMap(({ kind, value }) => (value === undefined ? [] : [{ kind, value }]))
  if (found.length > 1) throw usageError(`Give the key once: only one of ${names}`)
  return found[0] ?? null
}
