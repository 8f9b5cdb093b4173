import type { Command } from 'commander'
import { allItems, aloneReasons, claimsOf, type Item, provesOf } from '../engine/conversation/cases.ts'
import { usageError } from '../engine/errors.ts'
import type { Corpus, OpenQuestion, Requirement, Scenario } from '../engine/language/fixture-types.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { printableLines } from '../engine/printable.ts'
import { hanging } from '../report/lines.ts'
import { aloneText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { type BrokenServer, loadMutants } from '../targets/bundled.ts'
import { writeOut } from './console.ts'
import { listText } from './list.ts'

/** `show ID`: one requirement, scenario, case, test key, open question or mutant, with what belongs to it; or a part of the model's calls. */
export function registerShow(program: Command): void {
  program
    .command('show')
    .description(
      'show a requirement with its sentence, cases, mutants and open questions; or a case, a question, a mutant',
    )
    .argument('<id>', 'an id from "list" or a report')
    .action(async (id: string) => {
      writeOut(printableLines(await textOf(id, await openCorpus(), await loadMutants())))
    })
}

/** @throws SuiteError (`usage`) for an unknown id */
async function textOf(id: string, corpus: Corpus, mutants: readonly BrokenServer[]): Promise<string> {
  if (isArea(id, corpus)) return listText(corpus, mutants, id)
  // The model is loaded only where it is asked for.
  const lines = /^(table|matrix|found)(\/|$)/.test(id)
    ? (await import('./show-model.ts')).showOfModel(id, corpus)
    : showText(id, corpus, mutants)
  return `${lines.join('\n')}\n`
}

/** Whether an id is the first part of others, as `refresh` is. */
const isArea = (id: string, corpus: Corpus): boolean =>
  !id.includes('/') &&
  [...corpus.requirements.map((one) => one.id), ...allItems(corpus).map(keyOf)].some((one) => one.startsWith(`${id}/`))

/** @throws SuiteError (`usage`) for an unknown id, with a did-you-mean */
function showText(id: string, corpus: Corpus, mutants: readonly BrokenServer[]): string[] {
  const items = allItems(corpus)
  const requirement = corpus.requirements.find((one) => one.id === id)
  const question = corpus.questions.find((one) => one.id === id)
  const mutant = mutants.find((one) => one.id === id)
  const scenario = corpus.scenarios.find((one) => one.id === id || items.some((item) => isCaseOf(item, one, id)))
  const testKey = items.find((item) => item.kind === 'test-key' && item.key === id)
  const found = [
    ...(requirement === undefined ? [] : [showRequirement(requirement, corpus, items, mutants)]),
    ...(scenario === undefined ? [] : [showScenario(scenario, id, items)]),
    ...(testKey === undefined ? [] : [[`${id}: the creation of a test key`, ...listed('proves', provesOf(testKey))]]),
    ...(question === undefined ? [] : [showQuestion(question, corpus)]),
    ...(mutant === undefined ? [] : [showMutant(mutant, corpus)]),
  ]
  if (found.length > 0) return found.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
  const ids = [...corpus.requirements, ...corpus.questions, ...corpus.scenarios, ...mutants].map((one) => one.id)
  const advice = suggestion(id, [...ids, ...items.map(({ key }) => key)])
  throw usageError(`Nothing is named "${id}"${isLong(advice) ? '; "svc-conformance list" shows the ids' : advice}`)
}

/** Without a similar id, the error would list every id. */
const isLong = (advice: string): boolean => !advice.includes('did you mean')

const isCaseOf = (item: Item, scenario: Scenario, key: string): boolean =>
  item.kind === 'case' && item.scenario === scenario && item.key === key

function showRequirement(
  { id, level, part, text, untestable }: Requirement,
  corpus: Corpus,
  items: readonly Item[],
  mutants: readonly BrokenServer[],
): string[] {
  const cases = items.filter((item) => provesOf(item).includes(id)).map(keyOf)
  const [area = ''] = id.split('/')
  const caught = mutants.filter(({ breaks }) => breaks === id).map((mutant) => mutant.id)
  const questions = corpus.questions.filter((question) => question.id.startsWith(`${area}/`))
  return [
    `${id}: ${level}, part ${part} of the document`,
    ...hanging('  ', text),
    ...(untestable === undefined ? [] : hanging('  ', `${whatIsMissing(untestable.without)}: ${untestable.reason}`)),
    ...listed('cases', cases),
    ...listed('mutants', caught),
    ...listed(`open questions about ${area}`, questions.map(named)),
  ]
}

const named = ({ id, question }: OpenQuestion): string => `${id}: ${question}`

const whatIsMissing = (without: string | undefined): string =>
  without === undefined ? 'Not testable' : `Without ${without}`

function showScenario(scenario: Scenario, id: string, items: readonly Item[]): string[] {
  const cases = items.filter((item) => item.kind === 'case' && item.scenario === scenario)
  const mine = cases.find(({ key }) => key === id)
  const proves = [...new Set((mine === undefined ? cases : [mine]).flatMap(provesOf))]
  return [
    `${id}: ${scenario.title}`,
    `  ${scenario.file}`,
    ...listedIfAny('needs', scenario.needs),
    ...listedIfAny('proves', proves),
    ...listedIfAny('runs alone', [...new Set(cases.flatMap((item) => aloneReasons(claimsOf(item))))].map(aloneText)),
    ...(mine !== undefined && mine.key !== scenario.id ? [] : listed('cases', cases.map(keyOf))),
    `  npx svc-conformance run --only ${id} --trace`,
  ]
}

const keyOf = ({ key }: Item): string => key

function showQuestion({ id, part, question, readings, reference }: OpenQuestion, { scenarios }: Corpus): string[] {
  const observing = scenarios.flatMap((scenario) =>
    [...scenario.given, ...scenario.steps].some((step) => 'observe' in step && step.observe === id) ? scenario.id : [],
  )
  return [
    `${id}: open question, part ${part} of the document; never judged`,
    ...hanging('  ', question),
    ...listed('readings', readings),
    ...hanging('  ', `The bundled server: ${reference}`),
    ...listed('observed by', observing),
  ]
}

function showMutant({ id, breaks }: BrokenServer, { requirements }: Corpus): string[] {
  const text = requirements.find((requirement) => requirement.id === breaks)?.text ?? ''
  return [`${id}: a server that breaks ${breaks}`, ...hanging('  ', text), `  npx svc-conformance serve --mutant ${id}`]
}

const listedIfAny = (what: string, all: readonly string[]): string[] => (all.length === 0 ? [] : listed(what, all))

function listed(what: string, all: readonly string[]): string[] {
  if (all.length === 0) return [`  no ${what}`]
  return [`  ${what}:`, ...all.flatMap((one) => hanging('    ', one))]
}
