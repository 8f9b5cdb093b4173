import { createPublicKey } from 'node:crypto'
import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { readText } from '../run/files.ts'
import { portNumber, positive, schemeWord, wholeNumber } from '../run/values.ts'
import { loadMutants, type ServerOptions, serve } from '../targets/bundled.ts'
import { collect } from './run-flags.ts'

interface ServeFlags {
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
  profile?: string[]
  explain?: boolean
  control?: boolean
  controlPort?: string
  controlToken?: string
  virtualClock?: boolean
  now?: string
  journal?: string
  cors?: string[]
}

/** `serve`: the reference server on its own, until it is stopped. */
export function registerServe(program: Command): void {
  program
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
    .option(
      '--profile <file>',
      'answers to open questions: a JSON file, or "random", which prints them; repeatable',
      collect,
    )
    .option(
      '--explain',
      'name the stage that refused a call in the header x-refused-at, and record what was computed in the journal (8 MiB at most)',
    )
    .option(
      '--control',
      'open the control port for clock, journal, faults and scenes (spec/control.openapi.json); the first line then also has controlUrl and controlToken',
    )
    .option('--control-port <port>', 'port for it to listen on; 0: any free port')
    .option('--control-token <token>', 'token that it requires; random by default')
    .option('--virtual-clock', 'stop the clock; only the control port moves it')
    .option('--now <ms>', 'start time of the clock, in milliseconds since 1970')
    .option('--journal <calls>', 'number of calls that the journal holds')
    .option('--cors <origin>', 'allow pages of this origin to call; "*": any origin; repeatable', collect)
    .action(async (flags: ServeFlags) => {
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
  const { seed, keyId, publicKey, scheme, tokenPrefix, basePath, now, journal, controlPort, controlToken } = flags
  if (controlToken === '') throw usageError('Give "--control-token" a token that is not empty')
  // An empty word comes from an unset variable, and would give secrets that anyone can compute.
  if (seed === '') throw usageError('Give "--seed" a word that is not empty')
  const opensControl = flags.control || controlPort !== undefined || controlToken !== undefined
  const port = controlPort === undefined ? undefined : portNumber('--control-port', controlPort)
  return {
    port: portNumber('--port', flags.port),
    host: flags.host,
    ...defined({
      control: opensControl ? defined({ port, token: controlToken }) : undefined,
      explain: flags.explain,
      clock: flags.virtualClock ? ('virtual' as const) : undefined,
      now: now === undefined ? undefined : positive('--now', now, 0),
      journal: journal === undefined ? undefined : { size: wholeNumber('--journal', journal, 1_000_000) },
      cors: flags.cors?.map(originOf),
      seed,
    }),
    profileWords: [...(flags.profile ?? []), ...settings(flags.set ?? [])],
    rootKey: defined({
      id: keyId === undefined ? undefined : keyIdOf(keyId),
      secret: flags.keySecret,
      publicKey: publicKey === undefined ? undefined : publicKeyIn(publicKey),
    }),
    profile: defined({
      trustProxy: flags.trustProxy,
      scheme: scheme === undefined ? undefined : schemeWord('--scheme', scheme),
      tokenPrefix,
      basePath: basePath === undefined ? undefined : basePathOf(basePath),
    }),
  }
}

function publicKeyIn(file: string): string {
  const text = readText(file, 'the public key')
  try {
    // createPublicKey would also read a private key.
    if (text.includes('BEGIN PUBLIC KEY') && createPublicKey(text).asymmetricKeyType === 'ed25519') return text
  } catch {
    // It is not a key at all.
  }
  throw usageError(`Cannot use "${file}" for "--public-key": it is not an ED25519 public key in PEM form`)
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
  const wrong = texts.find((text) => !/^\w+=/.test(text))
  if (wrong !== undefined)
    throw usageError(`Cannot use "${wrong}" for "--set": expected NAME=VALUE, such as "delayMs=80"`)
  return texts
}

/** An origin as browsers write it: without a path, the default port and upper case. */
function originOf(text: string): string {
  if (text === '*' || text === 'null') return text
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && url.host !== '' && /^\w[\w+.-]*:\/\/[^/?#@]+\/?$/.test(text)
  if (!isPlain)
    throw usageError(`Cannot use "${text}" for "--cors": expected an origin like "http://localhost:3000", or "*"`)
  return `${url.protocol}//${url.host}`
}
