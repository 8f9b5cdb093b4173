/** The verdict about a client, its exit code, and the sentences that explain both. */
import { interruptedExitCode } from '../../engine/errors.ts'
import { counted } from '../../engine/group.ts'
import type { RunVerdict } from '../../report/report.ts'
import type { CheckReport, ClientKnownEntry, ClientMeta, ClientReport, ClientSummary } from './client-report.ts'

export function summarize(checks: readonly CheckReport[], stale: readonly ClientKnownEntry[]): ClientSummary {
  const count = (verdict: CheckReport['verdict']): number =>
    checks.filter((check) => check.verdict === verdict && check.known === null).length
  return {
    passed: count('passed'),
    failed: count('failed'),
    warned: count('warned'),
    notExercised: count('not-exercised'),
    known: checks.filter(({ known }) => known !== null).length,
    stale: stale.length,
  }
}

interface VerdictInput {
  summary: ClientSummary
  strict: boolean
  /** Whether any check of the document passed, reported or not. */
  documentPassed: boolean
  meta: Pick<ClientMeta, 'stopped'>
  /** No request reached a server. */
  nothingCame: boolean
}

export function judgeClient(input: VerdictInput): Pick<ClientReport, 'verdict' | 'exitCode' | 'conclusion'> {
  const { summary, strict, meta } = input
  const [verdict, fromChecks] = verdictOf(input)
  const strictFault = strict && summary.warned > 0
  const isWrong = fromChecks === 1 || summary.stale > 0 || strictFault
  const exitCode = meta.stopped !== null ? interruptedExitCode : isWrong ? 1 : 0
  return { verdict, exitCode, conclusion: becauseOf(input, strictFault) }
}

function verdictOf({ summary, documentPassed, meta, nothingCame }: VerdictInput): [RunVerdict, 0 | 1] {
  if (summary.failed > 0) return ['does-not-conform', 1]
  if (nothingCame || !documentPassed || isNothingShown(summary) || meta.stopped !== null) return ['inconclusive', 1]
  return summary.known > 0 ? ['does-not-conform', 0] : ['conforms', 0]
}

/** No selected check was exercised. */
const isNothingShown = ({ passed, failed, warned, known }: ClientSummary): boolean =>
  passed + failed + warned + known === 0

function becauseOf({ summary, documentPassed, meta, nothingCame }: VerdictInput, strictFault: boolean): string[] {
  const lines: string[] = []
  if (meta.stopped !== null) lines.push(`The run stopped early: ${meta.stopped}`)
  if (summary.failed > 0)
    lines.push(
      `${counted(summary.failed, 'check')} of the document failed; each says what is wrong and how to repeat it`,
    )
  if (nothingCame) lines.push('No request of the client reached a server; it must call the URL in SVC_URL')
  else if (isNothingShown(summary)) lines.push('No check was exercised, so nothing is known about this client')
  else if (!documentPassed) lines.push('No check of the document passed, so nothing is known about this client')
  if (summary.warned > 0)
    lines.push(
      `${counted(summary.warned, 'check')} of good practice warned${strictFault ? ', which --strict makes fail' : ' (--strict makes them fail)'}`,
    )
  if (summary.known > 0) lines.push(`${counted(summary.known, 'check')} known to fail (baseline)`)
  if (summary.stale > 0)
    lines.push(`${counted(summary.stale, 'baseline entry passes', 'baseline entries pass')} now: remove what is stale`)
  if (summary.notExercised > 0)
    lines.push(`${counted(summary.notExercised, 'check')} not exercised: the client did nothing that shows them`)
  return lines
}
