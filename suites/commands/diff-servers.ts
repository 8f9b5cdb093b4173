import { diffServers } from '../diff/diff-servers.ts'
import { outcomesDiffer, renderServerDiff } from '../diff/text.ts'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import { jsonLine, line, lines } from '../engine/printable.ts'
import { systemRandom } from '../engine/random.ts'
import type { RunFlags } from '../run/options.ts'
import { readTargetOptions, type TargetOptions } from '../run/options.ts'
import { count, positive } from '../run/values.ts'
import { urlTarget } from '../targets/url.ts'
import { processOutlet } from './write-reports.ts'

/** A flag that is given once applies to both servers; given twice, to the first and the second. */
const perServer = ['keyId', 'keySecret', 'keySecretFile', 'privateKey', 'target', 'scheme', 'tokenPrefix'] as const

type PerServer = { [flag in (typeof perServer)[number]]?: string[] }

export interface DiffServersFlags extends PerServer, Pick<RunFlags, 'allow' | 'disposable' | 'rate' | 'wait' | 'seed'> {
  url?: string[]
  calls?: string
  json?: boolean
}

const defaultCalls = '150'

/**
 * Makes the same calls to two servers and prints where the answers differ.
 *
 * @returns the exit code
 */
export async function runDiffServers(flags: DiffServersFlags): Promise<number> {
  const [a, b] = [targetOf(flags, 0), targetOf(flags, 1)]
  const calls = count('--calls', flags.calls ?? defaultCalls)
  const allow = a.allow.filter((one) => b.allow.includes(one))
  const lasting = allow.includes('sessions') ? 'grants tokens and opens two sessions' : 'creates nothing that lasts'
  const outlet = processOutlet(process.env)
  outlet.stderr(lines([line`Plan: ${calls} calls to each server; ${lasting}`]))
  const diff = await compareTargets(a, b, {
    allow,
    calls,
    seed: positive('--seed', flags.seed, 1),
    random: systemRandom,
    patientMs: positive('--wait', flags.wait, 0) * 1000,
  })
  outlet.stdout(flags.json === true ? jsonLine(diff, 2) : renderServerDiff(diff))
  return outcomesDiffer(diff) ? 1 : 0
}

async function compareTargets(a: TargetOptions, b: TargetOptions, options: Parameters<typeof diffServers>[2]) {
  const first = await urlTarget(a).open()
  try {
    const second = await urlTarget(b).open()
    try {
      return await diffServers(first, second, options)
    } finally {
      await second.close()
    }
  } finally {
    await first.close()
  }
}

/** @throws SuiteError (`usage`) */
function targetOf(flags: DiffServersFlags, place: 0 | 1): TargetOptions {
  const { url = [], allow, disposable, rate } = flags
  const own: RunFlags = defined({ url: url[place], allow, disposable, rate })
  for (const flag of perServer) {
    const values = flags[flag]
    if (values !== undefined && values.length > 2)
      throw usageError('Give a flag once for both servers, or twice: for the first and for the second')
    const value = values?.[place] ?? values?.[0]
    if (value !== undefined) own[flag] = value
  }
  const target = readTargetOptions(own, process.env)
  if (target === null || url.length > 2 || (url.length === 1 && flags.target?.length !== 2))
    throw usageError('Name two servers, as in "--url https://a.example --url https://b.example"')
  return target
}
