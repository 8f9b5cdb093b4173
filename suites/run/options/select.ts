import { answersTo, type Item, provesOf, type Selection, selectItems } from '../../engine/conversation/cases.ts'
import { usageError } from '../../engine/errors.ts'
import { suggestion } from '../../engine/language/yaml-source.ts'

/**
 * Selects items by `--only`, `--skip` and `--shard`.
 *
 * @throws SuiteError (`usage`) for an unknown id, with a did-you-mean, and if nothing is left
 */
export function select(items: readonly Item[], selection: Selection): ReturnType<typeof selectItems> {
  demandKnownIds(items, selection)
  const chosen = selectItems(items, selection)
  if (chosen.selected.length === 0) throw usageError(`Nothing is selected: ${nothingSelected(selection)}`)
  return chosen
}

function nothingSelected({ only, skip, shard }: Selection): string {
  const chosen = only.length === 0 ? 'the scenarios' : `what --only selects (${only.join(', ')})`
  if (skip.length > 0) return `--skip leaves nothing of ${chosen}`
  return `there are fewer than ${shard?.index ?? 1} shards in ${chosen}`
}

/** Checks that every id exists: a misspelt one would silently select the wrong cases. @throws SuiteError (`usage`) with a did-you-mean */
function demandKnownIds(items: readonly Item[], { only, skip }: Selection): void {
  const given = [...only.map((id) => ['--only', id] as const), ...skip.map(({ id }) => ['--skip', id] as const)]
  const wrong = given.find(([, id]) => !items.some((item) => answersTo(item, id)))
  if (wrong === undefined) return
  const [flag, id] = wrong
  if (id.startsWith('found/'))
    throw usageError(
      `"${flag} ${id}" names a finding of the model, not a case; "explore --save DIR" writes findings as scenarios that "run --fixtures DIR" runs`,
    )
  const scenarios = items.flatMap((item) => (item.kind === 'case' ? [item.scenario.id, item.key] : [item.key]))
  const areas = scenarios.map((key) => key.split('/')[0] ?? key)
  const ids = [...new Set(id.includes('/') ? [...scenarios, ...items.flatMap(provesOf)] : areas)]
  throw usageError(
    `No scenario or requirement matches "${flag} ${id}"${suggestion(id, ids) || '; "svc-conformance list" shows them'}`,
  )
}
