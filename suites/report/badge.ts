import { jsonLine, type Printable } from '../engine/printable.ts'
import type { Report } from './report.ts'

/** The part of a report that a badge needs, of a server or of a client. */
export type BadgeInput = Pick<Report, 'verdict' | 'exitCode'> & { summary: Pick<Report['summary'], 'failed' | 'known'> }

/** The JSON that badge services take: a label, a short message and a colour. */
export function renderBadge(report: BadgeInput): Printable {
  const [message, color] = messageOf(report)
  return jsonLine({ schemaVersion: 1, label: 'svc-conformance', message, color })
}

function messageOf({ verdict, exitCode, summary }: BadgeInput): [message: string, color: string] {
  if (verdict === 'conforms')
    return exitCode === 0 ? ['conforms', 'brightgreen'] : ['conforms, but not strictly', 'yellow']
  if (verdict === 'inconclusive') return ['inconclusive', exitCode === 0 ? 'yellow' : 'orange']
  if (summary.failed > 0) return [`does not conform: ${summary.failed} failed`, 'red']
  if (summary.known > 0) return [`does not conform: ${summary.known} known`, 'orange']
  return ['does not conform', 'red']
}
