import { createPublicKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { lines, printable } from '../engine/printable.ts'
import { readText, stateFolder } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { recordIn, stateFolders } from '../run/key-files.ts'
import { type ServerOptions, serve } from '../targets/bundled.ts'
import { writeError } from './console.ts'

const serveFlags = {
  port: flag.preset('--port <port>', 'port to listen on; 0: any free port', '0', flag.number.port),
  host: flag.preset('--host <host>', 'address to listen on', '127.0.0.1'),
  scheme: flag.value('--scheme <word>', 'scheme word of signatures', flag.schemeWord),
  tokenPrefix: flag.value('--token-prefix <word>', 'word before an access token; "" for no word'),
  basePath: flag.value('--base-path <path>', 'path before /api', basePath),
  keyId: flag.value('--key-id <id>', 'id of the initial key', keyIdOf),
  keySecret: flag.value('--key-secret <secret>', 'secret of the initial key'),
  publicKey: flag.value(
    '--public-key <file>',
    'ED25519 public key (PEM): the initial key accepts only ECC signatures',
    publicKeyIn,
  ),
  seed: flag.value(
    '--seed <word>',
    'the same seed gives the same ids, secrets and tokens; for tests only',
    notEmpty('word'),
  ),
  set: flag.many('--set <name=value>', 'answer an open question in another way; repeatable', setting),
  mutant: flag.many(
    '--mutant <id>',
    'break one rule on purpose, to see what a failure looks like; "list --mutants" names them; repeatable',
  ),
  trustProxy: flag.mark('--trust-proxy', 'take the caller address from X-Forwarded-For'),
  profile: flag.many(
    '--profile <file>',
    'answers to open questions: a JSON file, or "random", which prints them; repeatable',
  ),
  explain: flag.mark(
    '--explain',
    'name the stage that refused a call in the header x-refused-at, and record what was computed in the journal (8 MiB at most)',
  ),
  control: flag.mark(
    '--control',
    'open the control port for clock, journal, faults and scenes (spec/control.openapi.json); the first line then also has controlUrl and controlToken',
  ),
  controlPort: flag.value('--control-port <port>', 'port for it to listen on; 0: any free port', flag.number.port),
  controlToken: flag.value('--control-token <token>', 'token that it requires; random by default', notEmpty('token')),
  virtualClock: flag.mark('--virtual-clock', 'stop the clock; only the control port moves it'),
  now: flag.value('--now <ms>', 'start time of the clock, in milliseconds since 1970', flag.number.notNegative),
  journal: flag.value('--journal <calls>', 'number of calls that the journal holds', flag.number.upTo(1_000_000)),
  cors: flag.many('--cors <origin>', 'allow pages of this origin to call; "*": any origin; repeatable', originOf),
}

/** The reference server on its own, until it is stopped. */
export const command: flag.Command<typeof serveFlags> = {
  about: 'run the reference server; its first line is {"url","apiKeyId","apiKeySecret"}',
  flags: serveFlags,
  async run(typed) {
    const { mutant } = flag.read({ mutant: serveFlags.mutant }, typed)
    const options = { ...serveOptions(typed), onStart: forgetEarlier }
    if (mutant.length === 0) return serve(options)
    const { profileWords, ...broken } = await brokenServer(mutant)
    // A switch that a flag sets counts, even if the mutant needs another.
    return serve({ ...options, ...broken, profileWords: [...profileWords, ...options.profileWords] })
  },
}

/** This server has no created keys, so those that runs recorded for its address are gone. */
async function forgetEarlier({ url, rootKey }: Parameters<NonNullable<ServeOptions['onStart']>>[0]): Promise<void> {
  if (!stateFolders(stateFolder(process.env)).some((folder) => existsSync(recordIn(folder, url, rootKey.id)))) return
  // Loaded late: most people who start a server never ran against one at its address.
  const { forgetKeys } = await import('../run/keys.ts')
  writeError(lines(forgetKeys(url, rootKey.id, process.env).map((one) => printable(one))))
}

/** The rules of mutants, and the switches that they need. @throws SuiteError (`usage`) for an unknown mutant, or two that break the same rule */
async function brokenServer(ids: readonly string[]) {
  const { brokenServers } = await import('../servers/table.ts')
  const mutants = await brokenServers('own')
  const breakers = new Map<string, string>()
  const broken = ids.map((id) => {
    const mutant = mutants.find((one) => one.id === id)
    if (mutant === undefined) {
      const known = mutants.map((one) => one.id)
      throw usageError(
        `Unknown mutant "${id}"${suggestion(id, known) || '; "svc-conformance list --mutants" shows them'}`,
      )
    }
    const { rules = {}, around, profile = {} } = mutant.create()
    for (const rule of Object.keys(rules)) {
      const earlier = breakers.get(rule)
      if (earlier !== undefined)
        throw usageError(`Cannot serve "${earlier}" and "${id}" together: both replace the rule "${rule}"`)
      breakers.set(rule, id)
    }
    return { rules, around, profile }
  })
  const around: NonNullable<ServerOptions['around']> = (handle, context) =>
    broken.reduce((inner, one) => one.around?.(inner, context) ?? inner, handle)
  return {
    rules: Object.assign({}, ...broken.map(({ rules }) => rules)) as NonNullable<ServerOptions['rules']>,
    around,
    profileWords: broken.flatMap(({ profile }) => Object.entries(profile).map(([name, value]) => `${name}=${value}`)),
  }
}

type ServeOptions = Parameters<typeof serve>[0]

/** @throws SuiteError (`usage`) for values that cannot be used */
export function serveOptions(typed: flag.Typed<typeof serveFlags>): ServeOptions & { profileWords: string[] } {
  const flags = flag.read(serveFlags, typed)
  const { keyId, keySecret, publicKey, controlPort, controlToken, trustProxy, scheme, tokenPrefix } = flags
  const opensControl = flags.control || controlPort !== null || controlToken !== null
  return {
    port: flags.port,
    host: flags.host,
    ...given({
      control: opensControl ? given({ port: controlPort, token: controlToken }) : null,
      explain: flags.explain || null,
      clock: flags.virtualClock ? ('virtual' as const) : null,
      now: flags.now,
      journal: flags.journal === null ? null : { size: flags.journal },
      cors: flags.cors.length === 0 ? null : flags.cors,
      seed: flags.seed,
    }),
    profileWords: [...flags.profile, ...flags.set],
    rootKey: given({ id: keyId, secret: keySecret, publicKey }),
    profile: given({ trustProxy: trustProxy || null, scheme, tokenPrefix, basePath: flags.basePath }),
  }
}

/** The members that have a value. */
const given = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, one]) => one !== null)) as {
    [K in keyof T]?: Exclude<T[K], null>
  }

function notEmpty(what: string) {
  return (text: string, name: string): string => {
    // An empty word comes from an unset variable, and would give secrets that anyone can compute.
    if (text === '') throw usageError(`Give "${name}" a ${what} that is not empty`)
    return text
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
function basePath(path: string, name: string): string {
  const plain = path.replace(/\/$/, '')
  if (!/^(\/[\w.~-]+)*$/.test(plain))
    throw usageError(`Cannot use "${path}" for "${name}": expected a path like "/service/v1"`)
  return plain
}

/** A word of `--set` as `serve` reads it, after those of `--profile`. */
function setting(text: string, name: string): string {
  if (/^\w+=/.test(text)) return text
  throw usageError(`Cannot use "${text}" for "${name}": expected NAME=VALUE, such as "delayMs=80"`)
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
