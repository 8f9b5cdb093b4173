/** Lets the model listen to the cases of a run: what it knows of the target before the first of them. */
import { type CreatedKey, type CreatedKeysEntry, openCreatedKeys } from '../../engine/conversation/conversation.ts'
import { type TargetFacts, wordOfTokens } from '../../engine/conversation/target-facts.ts'
import { envelopeRequirements } from '../../engine/judge/classify.ts'
import type { CaseOutcome } from '../../engine/judge/problem.ts'
import { initialState, type State } from '../../engine/model/state.ts'
import { publicKeyOfSeed } from '../../engine/signer/ed25519.ts'
import { seedFromPkcs8 } from '../../engine/signer/pem.ts'
import type { Instance, Target } from '../../engine/target.ts'
import { type Listening, listenToRun } from '../../explore/listen.ts'
import { keyOfRoot, namedMethods } from '../../explore/open.ts'
import type { Finding } from '../../report/report.ts'

interface ListensTo {
  target: Target
  keptTestKeys?: readonly CreatedKey[]
  earlierKeys?: readonly CreatedKeysEntry[]
}

export function listenToCases(
  { target, keptTestKeys = [], earlierKeys = [] }: ListensTo,
  { root, settings }: Instance,
  facts: TargetFacts,
): Listening {
  const earlier = [...openCreatedKeys(() => {}, earlierKeys).keys, ...keptTestKeys]
  const begun = withKeys(
    initialState(
      {
        scheme: settings.scheme,
        tokenPrefix: wordOfTokens(settings, facts),
        uri: settings.signedUri,
        ...namedMethods(settings),
        // Against a URL the preflight has made calls before.
        fresh: !target.lasting,
      },
      keyOfRoot(root),
    ),
    earlier,
  )
  const state: State = target.lasting
    ? // Which sessions there were before is not known, so they are not followed.
      { ...begun, sessions: [] }
    : // The bundled server and its caller share one clock.
      { ...begun, signatureClock: 0, tokenClock: { from: -sharedClockMs, to: sharedClockMs } }
  return listenToRun({
    state,
    isFreshEachCase: !target.lasting,
    isShared: target.lasting && !target.fresh,
    seenFrom: {
      first: facts.clientAddress ?? (target.lasting ? undefined : settings.clientAddress),
      second: facts.secondAddress ?? (target.lasting ? undefined : settings.secondAddress),
    },
    unknownTexts: earlier.flatMap((key) => (hasCredentials(key) ? [] : [key.id])),
    ownHeaders: new Set(Object.keys(settings.headers).map((name) => name.toLowerCase())),
  })
}

/** Times may be rounded to a second. */
const sharedClockMs = 1000

const hasCredentials = ({ secret, privateKey }: CreatedKey): boolean => secret !== undefined || privateKey !== undefined

/** Keys that were created before: their scope is not known here. */
function withKeys(state: State, kept: readonly CreatedKey[]): State {
  const keys = new Map(state.keys)
  for (const { id, name, member, secret = '', privateKey } of kept)
    keys.set(id, {
      id,
      name: name || (member ?? ''),
      secret,
      publicKey: privateKey === undefined ? null : publicKeyOfSeed(seedFromPkcs8(privateKey)),
      scope: null,
      doubtful: [],
      works: 'unknown',
      origin: 'created before',
    })
  return { ...state, keys }
}

// What the model found by listening to the cases, as findings of the report.

type Found = Omit<Finding, 'known'>

/**
 * Findings at requirements that neither a case nor a call of the model shows to be broken: those are already reported.
 *
 * @param explored what the model found by calls of its own
 */
export function listeningFindings(outcomes: readonly CaseOutcome[], explored: readonly Found[]): Found[] {
  const shown = new Set(explored.map(({ requirement }) => requirement))
  for (const { requirements, envelope } of outcomes) {
    for (const [id, verdict] of Object.entries(requirements))
      if (verdict === 'failed' || verdict === 'warned') shown.add(id)
    for (const { problem } of envelope) shown.add(envelopeRequirements[problem.kind])
  }
  const found = new Map<string, Found>()
  for (const { key, findings = [] } of outcomes)
    for (const one of findings)
      if (!shown.has(one.requirement) && !found.has(one.id)) found.set(one.id, { ...one, case: key, ...notRepeated })
  return [...found.values()]
}

/** The model made no call for it, so it repeats none. */
const notRepeated: Pick<Finding, 'reproduced' | 'fixture' | 'exchanges' | 'history'> = {
  reproduced: { failed: 0, tries: 0 },
  fixture: null,
  exchanges: [],
  history: [],
}
