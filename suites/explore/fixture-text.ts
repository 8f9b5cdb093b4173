/** Writes a finding as a scenario, if the fixture language has words for it. */
import { hasDocumentedResult } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import { type Crowd, crowdOf } from './crowd.ts'
import { commentLines, withoutUnusedKeeps } from './fixture-comments.ts'
import { controlsFor, rightPair, rootCall } from './fixture-controls.ts'
import { expectText } from './fixture-demands.ts'
import type { Counts, FixtureInput } from './fixture-input.ts'
import { freeOwner, keysOfScenario, type Named, Unsayable } from './fixture-keys.ts'
import { crowdText, crowdUses, isRefresh, type Names, quoted, raceText, stepText } from './fixture-steps.ts'
import type { Outcome } from './replay.ts'
import { asRepeated, withOtherSessionsTogether } from './session-grants.ts'
import { isPushedOut, isSameInEveryReading } from './session-readings.ts'
import { connectionsIn, noneShared } from './shared-connections.ts'
import { type BurstStep, type CallStep, namesIn, type Step } from './step.ts'
import { refreshedIn } from './token-lines.ts'
import { callsOf, madeBy } from './whole-sequence.ts'

/** A finding as a scenario, or why there is none. */
export type WrittenFinding = { readonly text: string } | { readonly why: string }

export function fixtureText(input: FixtureInput): WrittenFinding {
  const last = input.steps.at(-1)
  if (last === undefined || last.do === 'wait') return { why: 'it has no call' }
  const why = whyOnlyHere(input)
  if (why !== undefined) return { why }
  try {
    return { text: scenarioText(input, last) }
  } catch (error) {
    if (error instanceof Unsayable) return { why: error.message }
    throw error
  }
}

/** Why the steps alone would accuse other servers, or disturb other scenarios. */
function whyOnlyHere(input: FixtureInput): string | undefined {
  const { requirement, steps, expect, isSeenAgain = true } = input
  if (!isSeenAgain) return 'it was not seen again, so these steps do not show it'
  if (tooManyLive(input) !== undefined) return undefined
  if (requirement.startsWith('keys/can-be-')) return 'no scenario may disable or delete a test key'
  const isOfSession = requirement.startsWith('sessions/') || requirement === 'refresh/session-kept'
  if (!isOfSession || isSameInEveryReading(steps) || (expect === 'refused' && isPushedOut(steps))) return undefined
  return 'which session is the oldest rests on what this target showed before'
}

/** A crowd of sessions of which more live than may. */
const tooManyLive = (input: FixtureInput): Crowd | undefined =>
  input.expect === 'refused' ? crowdOf(input) : undefined

function scenarioText(input: FixtureInput, last: CallStep | BurstStep): string {
  const needs = new Set<string>()
  const { named, creations } = keysOfScenario(input.steps, input.creationOf ?? (() => []))
  const judged = judgedStep(last, input)
  const names = friendlyNames(named, [...creations, ...input.steps, judged], input)
  const write = (step: Step, expect: string | null): Line => ({ step, text: stepText(step, names, needs, { expect }) })
  const crowd = tooManyLive(input)
  const groups = crowd === undefined ? withOtherSessionsTogether(input).slice(0, -1) : []
  const before = groups.map(({ steps: [step, ...more], outcome }): Line => {
    const expect = preparationText(outcome)
    return more.length === 0 ? write(step, expect) : times(more.length + 1, write(asRepeated(step), expect))
  })
  if (crowd !== undefined) before.push({ step: crowd.burst, text: crowdText(crowd.burst, names, needs) })
  const counts = countsBefore(input, last)
  const titleOf = ({ form, inChunks }: CallStep): string =>
    form === undefined && inChunks === undefined
      ? 'control: the server accepts a right call'
      : 'control: the server takes such a body'
  const ofRefusals = methodsOfRefusals(input)
    .filter((method) => hasDocumentedResult(method))
    .map(rootCall)
  const controls = [...controlsFor(last, input, names), ...ofRefusals].map((step): Line => {
    const line = {
      step,
      text: stepText({ ...step, connection: 'new' }, names, needs, { expect: 'accepted', title: titleOf(step) }),
    }
    return counts !== null && madeBy(step).length === 0 ? times(counts.accepted, line) : line
  })
  const created = creations.map((step) => write(step, 'accepted'))
  const judgedLine = crowd === undefined ? judgedText(judged, input, names, needs) : crowdUses
  const given = withControls([...created, ...before, ...untilExpiry(input, last, names)], controls, creations.length)
  const lines = withoutUnusedKeeps([...given.map(({ text }) => text), judgedLine])
  return [
    `scenario: ${quoted(input.sentence)}`,
    `why: ${quoted(`Found by explore: ${input.message}. See part ${input.part} of the document.`)}`,
    `proves: [${input.requirement}]`,
    ...(needs.size > 0 ? [`needs: [${[...needs].sort().reverse().join(', ')}]`] : []),
    ...commentLines(input, named),
    ...whyRepeated(input, judged, counts),
    'given:',
    ...lines.slice(0, -1).map((text) => `  - ${text}`),
    'steps:',
    `  - ${lines.at(-1)}`,
    '',
  ].join('\n')
}

/** A demand may compare one value of a result with another; otherwise nothing uses the result. */
function judgedStep(last: CallStep | BurstStep, { result }: FixtureInput): CallStep | BurstStep {
  if (last.do === 'burst') return last
  const { as = 'judged', ...call } = last
  return result === undefined ? call : { ...call, as }
}

/** What the finding rests on: where another server answers otherwise, it says nothing about that server. */
function preparationText(outcome: Outcome): string | null {
  if (outcome === 'accepted') return outcome
  return outcome === 'broken'
    ? null
    : `refused, if-accepted: ${quoted('the finding rests on the refusal of this call')}`
}

/** Every refusal has a right call of its method before it. */
const methodsOfRefusals = ({ steps, outcomes }: FixtureInput): string[] => [
  ...new Set(
    steps.slice(0, -1).flatMap((step, at) => (step.do === 'call' && outcomes[at] === 'refused' ? [step.method] : [])),
  ),
]

/** That a token has expired rests on the expiry that the target reported. On another server the same time may be in the future. */
function untilExpiry({ requirement, expect }: FixtureInput, last: CallStep | BurstStep, names: Names): Line[] {
  if (!expiries.includes(requirement) || expect === 'accepted' || last.do === 'burst') return []
  const [, access] = /^\$([\w-]+)\.accessToken$/.exec(last.auth.kind === 'token' ? last.auth.token : '') ?? []
  const pair = access ?? refreshedIn(last)
  const name = names.get(pair ?? '')?.name
  if (pair === undefined || name === undefined) throw new Unsayable('the expired token is of no pair of these steps')
  const expiry = access === undefined ? 'refreshTokenExpiry' : 'accessTokenExpiry'
  return [{ step: { do: 'wait', ms: 0 }, text: `{ wait: { past: $${name}.${expiry} } }` }]
}

const expiries: readonly string[] = [
  'tokens/expire',
  'tokens/expire-by-default',
  'refresh/own-expiry',
  'expires-in/enforced',
]

interface Line {
  readonly step: Step
  readonly text: string
}

const times = (count: number, { step, text }: Line): Line => ({
  step,
  text: count < 2 ? text : text.replace('{ ', `{ repeat: ${count}, `),
})

/** Controls come as early as they can: a right call between wrong ones may change what a server thinks of a caller. */
function withControls(lines: readonly Line[], controls: readonly Line[], earliest: number): Line[] {
  const given = [...lines]
  for (const control of controls) {
    const wanted = namesIn(control.step)
    const after = given.findLastIndex(({ step }) => madeBy(step).some((name) => wanted.includes(name)))
    given.splice(Math.max(earliest, after + 1), 0, control)
  }
  return given
}

/** How often a call is repeated whose finding was not seen each time. */
const repetitions = 30

function judgedText(judged: CallStep | BurstStep, input: FixtureInput, names: Names, needs: Set<string>): string {
  if (judged.do === 'burst') return raceText(judged, names, needs)
  const line = { step: judged, text: stepText(judged, names, needs, { expect: expectText(input, judged, names) }) }
  const counts = countsBefore(input, judged)
  if (counts !== null) return times(counts.refused + 1, line).text
  return isRepeatedForChance(input.isSeenSometimes, judged) ? times(repetitions, line).text : line.text
}

/** Why the last call of the scenario is repeated. */
function whyRepeated({ isSeenSometimes }: FixtureInput, judged: CallStep | BurstStep, counts: Counts | null): string[] {
  if (counts !== null)
    return [
      ...(counts.refused > 0
        ? [`# the last call is repeated: it was accepted after ${counted(counts.refused, 'refusal')}`]
        : []),
      ...(counts.accepted > 1 ? ['# the control is repeated: as many right calls came before'] : []),
    ]
  return isRepeatedForChance(isSeenSometimes, judged) ? ['# the last call is repeated: not each try showed this'] : []
}

/** Other calls make something with each repetition. */
const isRepeatedForChance = (isSeenSometimes: boolean | undefined, judged: CallStep | BurstStep): boolean =>
  isSeenSometimes === true && judged.do === 'call' && judged.method === 'solution/listSolutions'

/** How often such a call was refused before it was accepted, and the right call accepted; null where it was accepted at once. */
function countsBefore({ before, expect, steps }: FixtureInput, judged: CallStep | BurstStep): Counts | null {
  if (before === undefined || before.refused === 0 || expect === 'accepted' || judged.do === 'burst') return null
  // The token was new each time that the steps were run, and let in at once.
  if (judged.change === undefined && steps.flatMap(madeBy).some((name) => namesIn(judged).includes(name))) return null
  if (judged.method === 'manager/createApiKey' || isRefresh(judged)) return null
  const most = (count: number): number => Math.min(repetitions - 1, count)
  return { refused: most(before.refused), accepted: most(before.accepted) }
}

/** `$pair`, `$pair-2`, … in the order in which they are made. */
function friendlyNames(
  keys: ReadonlyMap<string, Named>,
  steps: readonly Step[],
  { ofTarget = new Map(), sharesConnection = false }: FixtureInput,
): Names {
  const names = new Map<string, Named>([...keys, [rightPair, { name: 'right-pair' }]])
  const counts = new Map<string, number>()
  for (const step of steps) {
    if (step.do !== 'call' || step.as === undefined || names.has(step.as)) continue
    // A call whose header alone is used makes no pair.
    const word = wordsOfMade[step.method] ?? 'sent'
    const count = (counts.get(word) ?? 0) + 1
    counts.set(word, count)
    const signs = step.params.publicKey === undefined ? {} : { signsAs: freeOwner([...names.values()]) }
    names.set(step.as, { name: count === 1 ? word : `${word}-${count}`, ...signs })
  }
  const texts = JSON.stringify(steps)
  const isSentAgain = (name: string): boolean => new RegExp(`\\$${name}\\.(header|signature)\\b`).test(texts)
  const made = steps.flatMap(callsOf).flatMap(({ as }) => as ?? [])
  return {
    ofTarget,
    connectionOf: sharesConnection ? connectionsIn(steps) : noneShared,
    sessions: shortSessions(texts),
    get: (name) => names.get(name),
    sentAgain: new Set(made.filter(isSentAgain)),
  }
}

const wordsOfMade: { readonly [method: string]: string } = { 'manager/auth': 'pair', 'manager/createApiKey': 'made' }

/** Names of sessions that say nothing, and may be too long for another server. The order of the letters in front may matter. */
const plainSession =
  /session:(?:pair\d+|first-of-all-sessions|life|ended|wrong-\d+|(?:before|unknown)-[\w-]+|\d+[xs]\d+|twice\d+|(?:alpha|mike|zulu)-s\d+)-\$unique/g

function shortSessions(texts: string): ReadonlyMap<string, string> {
  const found = [...new Set(texts.match(plainSession) ?? [])]
  const letterOf = (session: string): string => /^session:([amz])(?:lpha|ike|ulu)-/.exec(session)?.[1] ?? 's'
  return new Map(found.map((session, at) => [session, `session:${letterOf(session)}${(at + 10).toString(36)}$unique`]))
}
