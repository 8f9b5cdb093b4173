import { countBy, counted } from '../engine/group.ts'
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import { areaOf } from './explain.ts'
import { paintOf } from './lines.ts'
import type { Plan } from './report.ts'
import { casesOf } from './verdict-words.ts'

const shownIds = 8

/**
 * Describes what a run will do.
 *
 * @param options `ids`: list every requirement by its id, instead of their number for each area; `columns`: the width of the terminal
 */
export function renderPlan(planned: Plan, options: { ids: boolean; columns?: number | undefined }): Printable {
  const plan = printed(planned)
  const paint = paintOf(false, options.columns)
  const leftOut = plan.cannot.reduce((sum, { cases }) => sum + cases, 0)
  const lines = [
    // Observed calls may be refused too, which is not known in advance.
    `Plan: ${plan.cases} of ${casesOf(plan.total)}, about ${plan.calls} calls${duration(plan.seconds)}, at least ${plan.refusals} of them expected to be refused`,
    ...(plan.refusals > 0 ? ['  The refusals may look like an attack in the log of the server'] : []),
    ...(plan.notSelected > 0
      ? [`  ${casesOf(plan.notSelected)} ${plan.notSelected === 1 ? 'is' : 'are'} not selected`]
      : []),
    ...(plan.creates.length === 0
      ? plan.model === undefined || plan.model.keys === 0
        ? ['Creates nothing that lasts']
        : []
      : ['Creates:', ...plan.creates.flatMap((what) => paint.hanging('  - ', what))]),
    ...(plan.model === undefined ? [] : modelLines(plan.model)),
  ]
  if (leftOut > 0) lines.push(`Cannot run ${casesOf(leftOut)}:`)
  for (const { reason, cases, requirements } of plan.cannot)
    lines.push(
      ...paint.hanging('  - ', reason),
      ...paint.hanging('      ', `${casesOf(cases)}: ${openBy(requirements, options.ids)}`),
    )
  return vouchedFor(`${lines.join('\n')}\n`)
}

/** What the model does besides the cases. */
function modelLines({ calls, seconds, keys }: NonNullable<Plan['model']>): string[] {
  const created = keys === 0 ? '' : `; it creates at most ${counted(keys, 'API key')}`
  return [
    `Then the model makes at most ${counted(calls, 'call')}${duration(seconds)}${seconds === 0 ? '' : ` at ${Math.round((seconds * 1000) / calls)} ms each`}, most of them with a mistake${created}`,
  ]
}

function duration(seconds: number): string {
  if (seconds === 0) return ''
  return seconds >= 120 ? ` in ${Math.round(seconds / 60)} min` : ` in ${seconds} s`
}

function openBy(requirements: readonly string[], ids: boolean): string {
  if (requirements.length === 0) return 'only observed'
  if (ids || requirements.length <= shownIds) return requirements.join(', ')
  const areas = countBy(requirements, areaOf)
  return `${requirements.length} requirements of ${[...areas].map(([area, count]) => `${area} (${count})`).join(', ')}`
}
