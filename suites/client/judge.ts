/** Every check, which of them a command line selects, and what they find in journals. */
import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { diagnose } from '../lab/diagnose.ts'
import { type Check, type Finding, finding } from './check.ts'
import { callChecks } from './checks/calls.ts'
import { grantChecks } from './checks/grants.ts'
import { refreshChecks } from './checks/refresh.ts'
import { judgeSignatures, signatureChecks } from './checks/signatures.ts'
import { type Journal, readJournal, type Start, type Story } from './journal.ts'
import { type Scenario, scenarios } from './scenarios.ts'

/** The areas of checks in the order of the report. */
const areas = [
  'request',
  'signature',
  'keys',
  'grants',
  'refresh',
  'scopes',
  'retry',
  'nonce',
  'clock',
  'secrets',
  'answers',
  'limits',
]

/** Every check, in the order of the report. */
export const checks: readonly Check[] = areas.flatMap((area) =>
  [...callChecks, ...signatureChecks, ...grantChecks, ...refreshChecks].filter(({ id }) => id.startsWith(`${area}/`)),
)

/** Whether a scenario is made for a check. */
const isMadeFor = ({ check, exercises }: Pick<Scenario, 'check' | 'exercises'>, id: string): boolean =>
  check === id || exercises.includes(id)

type Evidence = Parameters<Check['judge']>[0]

interface Selection {
  auth: readonly Scenario['auth'][]
  /** Ids of checks or scenarios, or how they begin. */
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
}

/**
 * Selects by `--auth`, `--only` and `--skip`.
 *
 * @throws SuiteError (`usage`) for an unknown id, with a did-you-mean, and if nothing is left
 */
export function selectChecks({ auth, only, skip }: Selection) {
  for (const id of only) demandId('--only', id)
  for (const { id } of skip) demandId('--skip', id)
  const begins = (id: string, prefixes: readonly string[]): boolean => prefixes.some((prefix) => id.startsWith(prefix))
  const skipped = skip.map(({ id }) => id)
  const onlyChecks = only.filter((prefix) => checks.some(({ id }) => id.startsWith(prefix)))
  const isReported = (id: string): boolean =>
    !begins(id, skipped) && (onlyChecks.length === 0 || begins(id, onlyChecks))
  const reported = checks.map(({ id }) => id).filter(isReported)
  // Plain scenarios show the checks of every request, for which no scenario is made.
  const isNeeded = (one: Scenario): boolean =>
    reported.some(
      (id) => isMadeFor(one, id) || (one.id.startsWith('plain/') && !scenarios.some((other) => isMadeFor(other, id))),
    )
  const wanted = scenarios.filter(
    (one) =>
      auth.includes(one.auth) &&
      !begins(one.id, skipped) &&
      (only.length === 0 || begins(one.id, only) || (onlyChecks.length > 0 && isNeeded(one))),
  )
  if (wanted.length === 0 || reported.length === 0)
    throw usageError('Nothing is selected: "client --list" shows the checks and scenarios')
  const madeFor = (check: string): string[] => wanted.filter((one) => isMadeFor(one, check)).map(({ id }) => id)
  return { scenarios: wanted, isReported, madeFor }
}

/** Checks that every id exists: a misspelt one would silently select the wrong checks. */
function demandId(flag: string, id: string): void {
  const ids = [...checks, ...scenarios].map((one) => one.id)
  if (ids.some((one) => one.startsWith(id))) return
  const areas = [...new Set(ids.map((one) => one.split('/', 1)[0] ?? one))]
  const hint = suggestion(id, id.includes('/') ? ids : areas) || '; "client --list" shows them'
  throw usageError(`No check or scenario matches "${flag} ${id}"${hint}`)
}

/** What a check claims, and what it showed over all journals. Plain data. */
export interface CheckResult extends Omit<Check, 'judge'> {
  verdict: 'passed' | 'failed' | 'warned' | 'not-exercised'
  /** The journals that decide the verdict: those with findings, otherwise those in which the check was exercised. */
  scenarios: string[]
  /** The first finding; without one, what the check claims. */
  message: string
  findings: (Finding & { scenario: string })[]
}

/** Judges journals by every check; a finding of a whole scenario belongs to the check of that scenario. Pure. */
export function judgeJournals(
  journals: readonly Journal[],
  watched: readonly Pick<Scenario, 'id' | 'check'>[],
): CheckResult[] {
  const budget = { diagnoses: diagnosesInAll, withoutResult: searchesWithoutResult }
  const evidence = journals.map((journal): Evidence => {
    const story = readJournal(journal)
    return { story, signed: judgeSignatures(story, boundedExplain(budget)) }
  })
  const isOf = ({ scenario }: Story, check: string): boolean =>
    watched.some((one) => one.id === scenario && one.check === check)
  // A client that says `ok` for errors does so everywhere: it is reported once.
  const takesErrors = evidence.some(({ story }) => isOf(story, errorIn200) && tooManyOk(story, false).length > 0)
  // A client that never reaches a server proves nothing, even if it prints results.
  const isInert = evidence.every(({ story }) => story.requests.length === 0)
  const ofScenario = ({ id }: Check, story: Story): Finding[] =>
    isInert || !isOf(story, id)
      ? []
      : [...tooManyOk(story, takesErrors && id !== errorIn200), ...tooManyErrors(story), ...noEnd(story)]
  return checks.map((check) => judgeCheck(check, evidence, ofScenario))
}

const errorIn200 = 'answers/error-in-200'

function judgeCheck(
  check: Check,
  evidence: readonly Evidence[],
  ofScenario: (check: Check, story: Story) => Finding[],
): CheckResult {
  const { judge, ...claim } = check
  const judged = evidence.map((one) => {
    const { exercised, findings } = judge(one)
    return { scenario: one.story.scenario, exercised, findings: [...findings, ...ofScenario(check, one.story)] }
  })
  const findings = judged.flatMap(({ scenario, findings }) => findings.map((one) => ({ ...one, scenario })))
  const deciding = judged.filter((one) => (findings.length > 0 ? one.findings.length > 0 : one.exercised))
  const ofLevel = claim.level === 'document' ? 'failed' : 'warned'
  const more = findings.length > 1 ? ` (found ${findings.length} times)` : ''
  return {
    ...claim,
    verdict: findings.length > 0 ? ofLevel : deciding.length > 0 ? 'passed' : 'not-exercised',
    scenarios: deciding.map(({ scenario }) => scenario),
    message: findings[0] === undefined ? claim.title : findings[0].message + more,
    findings,
  }
}

/** A client that signs wrongly once does so again, so few searches are enough. */
const diagnosesPerJournal = 2
const diagnosesInAll = 12
/** A search without a result tries every pair of mistakes, which takes half a second. */
const searchesWithoutResult = 2

/** @param budget shared by all journals; used time is subtracted */
function boundedExplain(budget: { diagnoses: number; withoutResult: number }): Parameters<typeof judgeSignatures>[1] {
  let left = diagnosesPerJournal
  return (input) => {
    if (left === 0 || budget.diagnoses === 0 || budget.withoutResult === 0) return null
    left -= 1
    budget.diagnoses -= 1
    const diagnosis = diagnose(input)
    if (!diagnosis.explained) budget.withoutResult -= 1
    return diagnosis
  }
}

/** More `ok` lines than accepted calls. @param takesErrors the client says `ok` for errors too, which is reported elsewhere */
function tooManyOk({ requests, starts }: Story, takesErrors: boolean): Finding[] {
  const calls = requests.filter(({ kind }) => kind === 'call')
  const others = calls.filter(({ outcome }) => outcome !== 'accepted')
  const accepted = calls.length - others.length
  const excused = takesErrors ? others.filter(({ outcome }) => outcome === 'refused').length : 0
  const ok = (starts ?? []).reduce((sum, start) => sum + start.ok, 0)
  if (ok <= accepted + excused) return []
  const message = `The client prints "ok" ${times(ok)}, and ${accepted} of its calls were accepted. Print "error" for a call without an accepted answer`
  return [finding(message, ...others.slice(0, 2))]
}

/** The client prints `error` although every call was made once and got a result. */
function tooManyErrors({ requests, starts }: Story): Finding[] {
  return (starts ?? []).flatMap(({ ok, error }, index) => {
    const mine = requests.filter(({ start }) => start === index)
    const calls = mine.filter(({ kind }) => kind === 'call')
    const hasResults = calls.length === ok + error && mine.every(({ outcome }) => outcome === 'accepted')
    const message = `The client prints "error" ${times(error)}, although every call got a result. Print "ok" for each result, also when its id is 0`
    return error > 0 && hasResults ? [finding(message, ...calls.slice(0, 2))] : []
  })
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** Starts that did not end by themselves. */
function noEnd({ requests, starts }: Story): Finding[] {
  const problemOf = (ended: Start['ended']): string[] => {
    if (ended.kind === 'timeout')
      return [`The client was still running after ${ended.seconds} s and was ended. Exit when the calls are done`]
    if (ended.kind !== 'runaway') return []
    return [`The client made more than ${ended.requests} requests and was ended. Bound the retries`]
  }
  return (starts ?? [])
    .flatMap(({ ended }) => problemOf(ended))
    .map((message) => finding(message, ...requests.slice(-2)))
}
