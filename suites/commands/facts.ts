import { usageError } from '../engine/errors.ts'
import { groupBy } from '../engine/group.ts'
import { jsonLine, line, lines, type Printable, printable } from '../engine/printable.ts'
import type { Block } from '../report/document.ts'
import { renderPlan } from '../report/tell.ts'
import { printBlocks } from '../report/text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { demandPlaceFor, replaceFile } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { observeTarget, observingItems, sheetOf } from '../run/observe.ts'
import { readRunOptions, targetFlags } from '../run/options.ts'
import { planRun } from '../run/plan.ts'
import { packageVersion, writeError, writeOut } from './console.ts'

type FactSheet = ReturnType<typeof sheetOf>
type Fact = FactSheet['facts'][number]

const factsFlags = {
  ...targetFlags(
    {
      plan: flag.mark('--plan', 'print the plan, and stop'),
      wait: flag.value('--wait <seconds>', 'how long to wait for the server to come up', flag.number.notNegative),
      nonceWait: flag.value(
        '--nonce-wait <seconds>',
        'how long to wait to see when a nonce is forgotten; 0 by default',
        flag.number.notNegative,
      ),
    },
    'Target',
  ),
  ...flag.grouped('What to print', {
    json: flag.mark('--json', 'for scripts (spec/schemas/facts.schema.json)'),
    asProfile: flag.value('--as-profile <file>', 'write a profile for "serve --profile FILE": a mock of this server'),
  }),
}

const help = `
Exit codes: 0 measured; 2 wrong usage; 3 the target cannot be used; 130 interrupted. Nothing is judged.

  npx svc-conformance facts --url http://127.0.0.1:8080 --allow sessions --as-profile profile.json
  npx svc-conformance serve --profile profile.json              a mock of that server`

export const command: flag.Command<typeof factsFlags, string | undefined> = {
  about: 'measure what a server does where the document is silent; nothing is judged',
  operand: ['[url]', 'the same as --url'],
  flags: factsFlags,
  help,
  run: (typed, url) => measure(url === undefined ? typed : { ...typed, url }),
}

async function measure(typed: flag.Typed<typeof factsFlags>): Promise<void> {
  const options = readRunOptions(typed, process.env)
  const { asProfile, plan: isPlan, json, wait, nonceWait } = flag.read(factsFlags, typed)
  const { target } = options
  if (target === null) throw usageError('Name the server to measure, as in "--url https://service.example"')
  if (asProfile !== null) demandPlaceFor(asProfile, 'the profile', true)
  const { allow, url } = target
  const say = (text: string): void => writeError(lines([printable(text)]))
  for (const doubt of target.doubts) say(doubt)
  const corpus = await openCorpus()
  const items = observingItems(corpus)
  const { plan } = planRun(
    options,
    corpus,
    items.map(({ key }) => key),
  )
  writeError(renderPlan(plan, { ids: false }))
  say(
    'Then searches for the time window, the longest nonce and the largest body (up to 4 MiB): about 100 calls, half of them refused',
  )
  if (isPlan) return
  const started = new Date().toISOString()
  const { result, left } = await observeTarget(target, {
    corpus,
    items,
    patientMs: (wait ?? 0) * 1000,
    maxWaitMs: (nonceWait ?? 0) * 1000,
    say,
  })
  const sheet = sheetOf(result, corpus)
  if (asProfile !== null) replaceFile(asProfile, jsonLine(sheet.profile, 2), 'the profile')
  const meta = { version: packageVersion(), target: url, started, allow, node: process.version }
  writeOut(json ? jsonLine({ meta, ...sheet }, 2) : renderFacts(sheet, url))
  for (const text of left) say(`Left on the target: ${text}`)
  if (asProfile !== null) writeError(lines([line`Wrote ${asProfile}`]))
}

/** The sheet for a terminal. @param target the URL */
function renderFacts({ facts, refusals, givesAway, left, calls }: FactSheet, target: string): Printable {
  const missing = [...groupBy(left, ({ reason }) => reason)].map(
    ([reason, names]) => `Not measured, since ${reason}: ${names.map(({ name }) => name).join(', ')}`,
  )
  return printBlocks([
    { kind: 'lines', lines: [`What ${target} does where the document is silent. Measured, never judged.`] },
    ...parts.map(
      ([heading]): Block => ({
        kind: 'table',
        heading,
        head: ['measured', 'value', 'open question'],
        rows: facts.filter((fact) => partOf(fact) === heading).map(factRow),
      }),
    ),
    {
      kind: 'table',
      heading: 'How refusals are answered',
      head: ['refusal', 'HTTP', 'code', 'message'],
      rows: refusals.map(({ kind, outcome, status, code, message }) => {
        const http = outcome === 'accepted' ? 'accepted' : (status ?? 'no answer')
        return [kind, String(http), String(code ?? ''), message ?? '']
      }),
    },
    {
      kind: 'table',
      heading: 'What refusals give away, for information only',
      head: ['a caller with', 'and one with', 'in', 'can be told apart'],
      rows: givesAway.map(({ one, other, where, by }) => [one, other, where, by === 'no' ? 'no' : `yes, by ${by}`]),
    },
    { kind: 'lines', lines: missing },
    { kind: 'lines', lines: [`${facts.length} facts from ${calls} calls`] },
  ])
}

/** The parts of the sheet, by how the ids of their open questions begin; questions without their own part come last. */
const parts: readonly (readonly [heading: string, areas: readonly string[]])[] = [
  ['Requests', ['envelope', 'solutions']],
  ['Signatures', ['signatures']],
  ['Tokens', ['tokens', 'limits/token-lifetimes', 'expires-in', 'grants', 'scopes', 'refresh', 'addresses']],
  ['Sessions', ['sessions']],
  ['API keys', ['keys']],
  ['Limits and refusals', ['']],
]

const partOf = ({ question }: Fact): string =>
  parts.find(([, areas]) => areas.some((area) => question.startsWith(area)))?.[0] ?? ''

function factRow({ name, value, unit, question }: Fact): string[] {
  const shown = value === true ? 'yes' : value === false ? 'no' : String(value)
  return [name, unit === null ? shown : `${shown} ${unit}`, question]
}
