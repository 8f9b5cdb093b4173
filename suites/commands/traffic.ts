/** What `watch` and `judge` share: their flags, the keys that the user names, and the report. */
import { dirname, resolve } from 'node:path'
import { defaultScheme } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { membersOf } from '../engine/json.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import { lines, printable } from '../engine/printable.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { publicKeyFromPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { bareSettings, type RootKey } from '../engine/target.ts'
import { namedMethods } from '../explore/open.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { demandPlaceFor, readText } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { readBaseline } from '../run/inputs.ts'
import { readGivenKey, readTargetFile, serverFlags } from '../run/options.ts'
import type { NamedKey } from '../watch/records.ts'
import { buildWatchReport, watchRenderers } from '../watch/report.ts'
import type { SessionOptions } from '../watch/session.ts'
import { packageVersion, writeError } from './console.ts'
import { writeFormats } from './write-reports.ts'

const keyFlags = flag.grouped('Keys (none is needed: what traffic shows is learned from it)', {
  keyId: serverFlags.keyId,
  keySecret: serverFlags.keySecret,
  keySecretFile: serverFlags.keySecretFile,
  privateKey: serverFlags.privateKey,
  keys: flag.value('--keys <file>', 'YAML list of { id, secret } or { id, publicKeyFile }'),
  target: serverFlags.target,
  scheme: serverFlags.scheme,
  tokenPrefix: serverFlags.tokenPrefix,
})

export const trafficFlags = {
  ...keyFlags,
  ...flag.grouped('How to judge', {
    known: flag.value('--known <file>', 'baseline of known failures of the server'),
    strict: flag.mark('--strict', 'fail for warnings'),
  }),
  ...flag.grouped('What to print', {
    report: flag.reportFlag,
    trace: flag.mark('--trace', 'print and save secrets too'),
  }),
}

type ReportInput = Parameters<typeof buildWatchReport>[0]

/** Reads what both commands need before they judge anything. @throws SuiteError (`usage`, `fixture`) */
export async function openTraffic(typed: flag.Typed<typeof trafficFlags>) {
  const { report: reports, known, strict, trace } = flag.read(trafficFlags, typed, process.env)
  for (const { file } of reports) if (file !== null) demandPlaceFor(file, 'the report', true)
  const named = readWhatIsKnown(typed)
  const corpus = await openCorpus()
  const baseline = known === null ? [] : readBaseline(known, corpus, false)
  const started = new Date()
  return {
    ...named,
    requirements: corpus.requirements,
    trace,
    /** Writes the reports. @returns the exit code */
    writeReports({
      target,
      again,
      ...seen
    }: Pick<ReportInput, 'outcome' | 'others' | 'lacks'> & Pick<ReportInput['meta'], 'target' | 'again'>): number {
      const meta = { version: packageVersion(), target, again }
      const report = buildWatchReport({ ...seen, corpus, meta, started, known: baseline, strict, trace })
      writeFormats(report, watchRenderers, reports)
      return report.exitCode
    },
  }
}

/** The keys that the user names, and how the server differs in names. @throws SuiteError (`usage`, `fixture`) */
function readWhatIsKnown(typed: flag.Typed<typeof keyFlags>): Pick<SessionOptions, 'keys' | 'terms'> {
  const flags = flag.read(keyFlags, typed, process.env)
  const named = readTargetFile(typed, process.env)
  const { scheme = defaultScheme, tokenPrefix = null, signedUri = '/api', probes = {} } = named.file
  const given = readGivenKey(typed, process.env, named)
  for (const doubt of given?.doubts ?? []) writeError(lines([printable(doubt)]))
  return {
    keys: [...(given === null ? [] : [namedKey(given.root)]), ...(flags.keys === null ? [] : readKeys(flags.keys))],
    terms: {
      scheme: flags.scheme ?? scheme,
      tokenPrefix: flags.tokenPrefix ?? tokenPrefix,
      uri: signedUri,
      ...namedMethods({ ...bareSettings, probes }),
    },
  }
}

const namedKey = (key: RootKey): NamedKey =>
  key.kind === 'secret'
    ? { id: key.id, secret: key.secret }
    : { id: key.id, publicKey: publicKeyOfSeed(seedFromPkcs8(key.privateKey)) }

/** Errors name the entry, and no text of the file: it holds secrets. @throws SuiteError (`usage`) */
function readKeys(file: string): NamedKey[] {
  const { value } = readYaml(readText(file, 'the keys'), file)
  const fail = (place: string, problem: string) => usageError(`Cannot load ${file}${place}: ${problem}`)
  if (!Array.isArray(value)) throw fail('', 'expected a list of { id, secret } or { id, publicKeyFile }')
  return value.map((entry: unknown, at): NamedKey => {
    const { id, secret, publicKeyFile, ...others } = membersOf(entry)
    const place = `, entry ${at + 1}`
    const [other] = Object.keys(others)
    if (other !== undefined) throw fail(place, `unknown key "${other}", expected "id" with "secret" or "publicKeyFile"`)
    if (typeof id !== 'string') throw fail(place, '"id" is missing or not a text')
    if (typeof secret === 'string' && publicKeyFile === undefined) return { id, secret }
    if (typeof publicKeyFile !== 'string' || secret !== undefined)
      throw fail(place, 'expected one of "secret" and "publicKeyFile", as a text')
    try {
      return { id, publicKey: publicKeyFromPem(readText(resolve(dirname(file), publicKeyFile), 'the public key')) }
    } catch (cause) {
      throw fail(place, (cause as Error).message)
    }
  })
}
