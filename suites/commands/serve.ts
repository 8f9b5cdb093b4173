import { createPublicKey } from 'node:crypto'
import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { readText } from '../run/files.ts'
import { portNumber, schemeWord } from '../run/values.ts'
import { loadMutants, type ServerOptions, serve } from '../targets/bundled.ts'
import { addControlFlags, type ControlFlags, controlOptions } from './control-flags.ts'
import { collect } from './run-flags.ts'

interface ServeFlags extends ControlFlags {
  port: string
  host: string
  scheme?: string
  tokenPrefix?: string
  basePath?: string
  keyId?: string
  keySecret?: string
  publicKey?: string
  seed?: string
  set?: string[]
  mutant?: string[]
  trustProxy?: boolean
}

/** `serve`: the reference server on its own, until it is stopped. */
export function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .description('run the reference server; its first line is {"url","apiKeyId","apiKeySecret"}')
    .option('--port <port>', 'port to listen on; 0: any free port', '0')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--scheme <word>', 'scheme word of signatures')
    .option('--token-prefix <word>', 'word before an access token; "" for no word')
    .option('--base-path <path>', 'path before /api')
    .option('--key-id <id>', 'id of the initial key')
    .option('--key-secret <secret>', 'secret of the initial key')
    .option('--public-key <file>', 'ED25519 public key (PEM): the initial key accepts only ECC signatures')
    .option('--seed <word>', 'the same seed gives the same ids, secrets and tokens; for tests only')
    .option('--set <name=value>', 'answer an open question in another way; repeatable', collect)
    .option('--mutant <id>', 'break one rule on purpose, to see what a failure looks like; repeatable', collect)
    .option('--trust-proxy', 'take the caller address from X-Forwarded-For')
  addControlFlags(command).action(async (flags: ServeFlags) => {
    const options = serveOptions(flags)
    process.exitCode = await serve(
      flags.mutant === undefined ? options : { ...options, ...(await brokenRules(flags.mutant)) },
    )
  })
}

/** @throws SuiteError (`usage`) for an unknown mutant, or two that break the same rule */
async function brokenRules(ids: readonly string[]): Promise<Pick<ServerOptions, 'rules' | 'around'>> {
  const mutants = await loadMutants()
  const breakers = new Map<string, string>()
  const broken = ids.map((id) => {
    const mutant = mutants.find((one) => one.id === id)
    if (mutant === undefined) {
      const known = mutants.map((one) => one.id)
      throw usageError(
        `Unknown mutant "${id}"${suggestion(id, known) || '; "svc-conformance list --mutants" shows them'}`,
      )
    }
    const { rules = {}, around } = mutant.create()
    for (const rule of Object.keys(rules)) {
      const earlier = breakers.get(rule)
      if (earlier !== undefined)
        throw usageError(`Cannot serve "${earlier}" and "${id}" together: both replace the rule "${rule}"`)
      breakers.set(rule, id)
    }
    return { rules, around }
  })
  return {
    rules: Object.assign({}, ...broken.map(({ rules }) => rules)),
    around: (handle, context) => broken.reduce((inner, { around }) => around?.(inner, context) ?? inner, handle),
  }
}

type ServeOptions = Parameters<typeof serve>[0]

/** @throws SuiteError (`usage`) for values that cannot be used */
export function serveOptions(flags: ServeFlags): ServeOptions {
  return {
    port: portNumber('--port', flags.port),
    host: flags.host,
    ...controlOptions(flags),
    profileWords: [...(flags.profile ?? []), ...settings(flags.set ?? [])],
    ...(flags.seed === undefined ? {} : { seed: seedOf(flags.seed) }),
    rootKey: {
      ...(flags.keyId === undefined ? {} : { id: keyIdOf(flags.keyId) }),
      ...(flags.keySecret === undefined ? {} : { secret: flags.keySecret }),
      ...(flags.publicKey === undefined ? {} : { publicKey: publicKeyIn(flags.publicKey) }),
    },
    profile: {
      ...(flags.trustProxy ? { trustProxy: true } : {}),
      ...(flags.scheme === undefined ? {} : { scheme: schemeWord('--scheme', flags.scheme) }),
      ...(flags.tokenPrefix === undefined ? {} : { tokenPrefix: flags.tokenPrefix }),
      ...(flags.basePath === undefined ? {} : { basePath: basePathOf(flags.basePath) }),
    },
  }
}

/** Refuses an empty word: it comes from an unset variable, and would give secrets that anyone can compute. */
function seedOf(seed: string): string {
  if (seed === '') throw usageError('Give "--seed" a word that is not empty')
  return seed
}

function publicKeyIn(file: string): string {
  const text = readText(file, 'the public key')
  if (!isPublicKey(text))
    throw usageError(`Cannot use "${file}" for "--public-key": it is not an ED25519 public key in PEM form`)
  return text
}

function isPublicKey(text: string): boolean {
  try {
    // It would read a private key, too.
    return text.includes('BEGIN PUBLIC KEY') && createPublicKey(text).asymmetricKeyType === 'ed25519'
  } catch {
    return false
  }
}

function keyIdOf(id: string): string {
  if (id === '' || /[;:]/.test(id))
    throw usageError(
      `Cannot use "${id}" for "--key-id": it must not be empty, nor hold ";", which separates the fields of a signature, or ":", which ends the id in Basic credentials`,
    )
  return id
}

/** Removes a trailing slash; "" and "/" mean no base path. */
function basePathOf(path: string): string {
  const plain = path.replace(/\/$/, '')
  if (!/^(\/[\w.~-]+)*$/.test(plain))
    throw usageError(`Cannot use "${path}" for "--base-path": expected a path like "/service/v1"`)
  return plain
}

/** The words of `--set` as `serve` reads them, after those of `--profile`. */
function settings(texts: readonly string[]): readonly string[] {
  const odd = texts.find((text) => !/^\w+=/.test(text))
  if (odd !== undefined) throw usageError(`Cannot use "${odd}" for "--set": expected NAME=VALUE, such as "delayMs=80"`)
  return texts
}
