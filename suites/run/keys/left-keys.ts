import type { CreatedKey } from '../../engine/conversation/conversation.ts'
import { fewOf } from '../../engine/group.ts'
import { printable, printableJson } from '../../engine/printable.ts'
import type { TargetSettings } from '../../engine/target.ts'
import { shellWord } from '../../report/lines.ts'
import { removalParams } from './remove-keys.ts'

/** The keys that a run left on its target. */
interface LeftKeys {
  /** Test keys that are kept for the next run. */
  kept: readonly CreatedKey[]
  notRemoved: readonly CreatedKey[]
  /** Names of creations that were never answered. */
  unanswered: readonly string[]
  /** The reasons why keys were not removed. */
  problems: readonly string[]
}

/** One line for each key that is still on the target, with the call that removes it. */
export function leftKeyLines(
  { kept, notRemoved, unanswered, problems }: LeftKeys,
  url: string,
  cleanup?: TargetSettings['cleanup'],
): string[] {
  const named = ({ id, name }: CreatedKey): string => printable(`API key ${id} ("${name}")`)
  const hint = notRemoved.length > 0 && cleanup === undefined
  return [
    ...notRemoved.map((key) =>
      cleanup === undefined ? named(key) : `${named(key)}; to remove it: ${removalCommand(url, cleanup, key)}`,
    ),
    ...(hint ? ['(cleanup in the target file names the method that removes them)'] : []),
    ...problems.map((problem) => `(${problem})`),
    ...kept.map((key) => `${named(key)}, kept for the next run`),
    ...unansweredLines(unanswered),
  ]
}

const shownNames = 5

/** The maximum number of lines: a server that answers every creation with 507 would give a hundred. */
function unansweredLines(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.map((name) => `"${name}"`)
  const keys = names.length === 1 ? 'an API key' : `${names.length} API keys`
  return [printable(`perhaps ${keys}, whose creation got no clear answer: ${fewOf(shown, shownNames)}`)]
}

/** The command holds no secret: the shell takes it from the environment. */
function removalCommand(url: string, cleanup: NonNullable<TargetSettings['cleanup']>, key: CreatedKey): string {
  const params = removalParams(cleanup, key)
  const body = printableJson({ jsonrpc: '2.0', id: 1, method: cleanup.method, params })
  return `curl -sS ${shellWord(`${url}/api`)} -u "$SVC_KEY_ID:$SVC_KEY_SECRET" -H 'Content-Type: application/json' -d ${shellWord(body)}`
}
