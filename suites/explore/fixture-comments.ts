/** What a reader of a scenario asks: which key is which, and what an operation does. */

import { readDeviations } from '../engine/language/deviations.ts'
import { printable } from '../engine/printable.ts'
import { partNamed } from '../engine/signer/changed-call.ts'
import type { NamedOperations } from '../engine/signer/operations.ts'
import { sinceLines } from '../report/explain.ts'
import { cutLetters } from './describe-step.ts'
import type { FixtureInput } from './fixture-input.ts'
import type { Named } from './fixture-keys.ts'
import type { Change } from './step.ts'
import { callsOf } from './whole-sequence.ts'

/** Comments in YAML. */
export function commentLines({ steps, about, since }: FixtureInput, named: ReadonlyMap<string, Named>): string[] {
  const changes = steps
    .flatMap(callsOf)
    .flatMap(({ change, also = [] }) => [...(change === undefined ? [] : [change]), ...also])
  const forms = steps.flatMap(callsOf).flatMap(({ form }) => (typeof form === 'string' ? [form] : []))
  const cut = forms.filter((form) => form.startsWith('cut-letters')).map((form) => `${form} is ${cutLetters}`)
  const comments = [...keyComments(named, about), ...changes.flatMap(changeComment), ...cut, ...sinceLines({ since })]
  // A line feed would end the comment.
  return [...new Set(comments)].map((text) => `# ${printable(text)}`)
}

/** Test keys have other names than the keys of the report. */
function keyComments(named: ReadonlyMap<string, Named>, about: FixtureInput['about']): string[] {
  return [...named].flatMap(([key, { name, isTestKey, signsAs }]) => {
    const text = about?.(key)
    if (text === undefined) return []
    const signs = isTestKey !== true && signsAs !== undefined ? `; it has the key pair of ${signsAs}` : ''
    return [`${isTestKey === true ? name : `$${name}`} is ${key} of the report: ${text}${signs}`]
  })
}

function changeComment({ field, operation }: Change): string[] {
  const part = partNamed(field)
  if (part?.says === undefined) return []
  const operations = readDeviations()
  const what = operation === undefined ? undefined : operationText(operations, part.operations, operation)
  return [
    `${field} is ${part.says}${what === undefined ? '' : `; ${operation} is ${what} in fixtures/deviations.yaml`}`,
  ]
}

function operationText(operations: NamedOperations, kind: string, name: string): string | undefined {
  if (kind === 'text') return JSON.stringify(operations.text(name))
  return kind === 'bytes' ? JSON.stringify(operations.bytes(name)) : undefined
}

const kept = /, keep: \{ ([^{}]*) \}/

/** What no step refers to is not kept. */
export function withoutUnusedKeeps(lines: readonly string[]): string[] {
  return lines.map((line, at) => {
    const [, entries] = kept.exec(line) ?? []
    if (entries === undefined) return line
    // A step may refer to what it keeps itself.
    const others = [line.replace(kept, ''), ...lines.slice(at + 1)]
    const used = entries.split(', ').filter((entry) => {
      const reference = new RegExp(`\\$${entry.split(':')[0]}(?!-?\\w)`)
      return others.some((other) => reference.test(other))
    })
    return line.replace(kept, () => (used.length === 0 ? '' : `, keep: { ${used.join(', ')} }`))
  })
}
