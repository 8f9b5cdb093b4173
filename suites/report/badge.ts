import { jsonLine, type Printable } from '../engine/printable.ts'
import type { Finding, Report } from './report.ts'

/** The part of a report that a badge needs, of a server or of a client; only the first has findings of the model. */
export type BadgeInput = Pick<Report, 'verdict' | 'exitCode'> & {
  summary: Pick<Report['summary'], 'failed' | 'known'>
  findings?: readonly Pick<Finding, 'known' | 'level'>[]
}

/** The JSON that badge services take: a label, a short message and a colour. */
export function renderBadge(report: BadgeInput): Printable {
  const [message, color] = messageOf(report)
  return jsonLine({ schemaVersion: 1, label: 'svc-conformance', message, color })
}

function messageOf({ verdict, exitCode, summary, findings = [] }: BadgeInput): [message: string, color: string] {
  if (verdict === 'conforms')
    return exitCode === 0 ? ['conforms', 'brightgreen'] : ['conforms, but not strictly', 'yellow']
  if (verdict === 'inconclusive') return ['inconclusive', exitCode === 0 ? 'yellow' : 'orange']
  const failed = summary.failed + findings.filter((one) => one.known === null && one.level === 'must').length
  const known = summary.known + findings.filter((one) => one.known !== null).length
  if (failed > 0) return [`does not conform: ${failed} failed`, 'red']
  if (known > 0) return [`does not conform: ${known} known`, 'orange']
  return ['does not conform', 'red']
}
