import { allItems, aloneReasons, answersTo, claimsOf, type Item, provesOf } from '../engine/conversation/cases.ts'
import { usageError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import type { Corpus, OpenQuestion, Requirement, Scenario } from '../engine/language/fixture-types.ts'
import { didYouMean, suggestion } from '../engine/language/yaml-source.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { envelopeCases } from '../report/build.ts'
import { hanging, table } from '../report/text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { seedOfRelease } from '../run/explore.ts'
import * as flag from '../run/flags.ts'
import type { BrokenServer } from '../servers/table.ts'
import { writeOut } from './console.ts'

/** Loaded only where they are asked for. */
const ownMutants = async () => (await import('../servers/table.ts')).brokenServers('own')

/** One requirement, scenario, case, test key, open question or mutant, with what belongs to it; or a part of the model's calls. */
export const show: flag.Command<flag.Table, string> = {
  about: 'show a requirement with its sentence, cases, mutants and open questions; or a case, a question, a mutant',
  operand: ['<id>', 'an id from "list" or a report'],
  flags: {},
  async run(_typed, id) {
    const corpus = await openCorpus()
    const mutants = await ownMutants()
    // The model is loaded only where it is asked for.
    const isOfModel = /^(table|matrix|found)(\/|$)/.test(id)
    const text = isArea(id, corpus)
      ? texts.scenarios(listOf(corpus, mutants, id))
      : lines(isOfModel ? (await import('./show-model.ts')).showOfModel(id, corpus) : showText(id, corpus, mutants))
    writeOut(printableLines(text))
  },
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
  const item = items.find(({ key }) => key === id)
  const scenario = item?.kind === 'case' ? item.scenario : corpus.scenarios.find((one) => one.id === id)
  const found = [
    ...(requirement === undefined ? [] : [showRequirement(requirement, corpus, items, mutants)]),
    ...(scenario === undefined ? [] : [showScenario(scenario, id, items)]),
    ...(item?.kind === 'test-key' ? [[`${id}: the creation of a test key`, ...listed('proves', provesOf(item))]] : []),
    ...(question === undefined ? [] : [showQuestion(question, corpus)]),
    ...(mutant === undefined ? [] : [showMutant(mutant, corpus)]),
  ]
  if (found.length > 0) return found.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
  const ids = [...corpus.requirements, ...corpus.questions, ...corpus.scenarios, ...mutants].map((one) => one.id)
  const meant = didYouMean(id, [...ids, ...items.map(({ key }) => key)])
  const advice = meant === undefined ? '; "svc-conformance list" shows the ids' : `, did you mean "${meant}"?`
  throw usageError(`Nothing is named "${id}"${advice}`)
}

function showRequirement(
  { id, level, part, text, untestable }: Requirement,
  corpus: Corpus,
  items: readonly Item[],
  mutants: readonly BrokenServer[],
): string[] {
  const cases = items.filter((item) => provesOf(item).includes(id)).map(keyOf)
  const [area = ''] = id.split('/')
  const missing = untestable?.without === undefined ? 'Not testable' : `Without ${untestable.without}`
  const caught = mutants.filter(({ breaks }) => breaks === id).map((mutant) => mutant.id)
  const questions = corpus.questions.filter((question) => question.id.startsWith(`${area}/`))
  return [
    `${id}: ${level}, part ${part} of the document`,
    ...hanging('  ', text),
    ...(untestable === undefined ? [] : hanging('  ', `${missing}: ${untestable.reason}`)),
    ...listed('cases', cases),
    ...listed('mutants', caught),
    ...listed(`open questions about ${area}`, questions.map(named)),
  ]
}

const named = ({ id, question }: OpenQuestion): string => `${id}: ${question}`

function showScenario(scenario: Scenario, id: string, items: readonly Item[]): string[] {
  const cases = items.filter((item) => item.kind === 'case' && item.scenario === scenario)
  const mine = cases.find(({ key }) => key === id)
  const proves = [...new Set((mine === undefined ? cases : [mine]).flatMap(provesOf))]
  return [
    `${id}: ${scenario.title}`,
    `  ${scenario.file}`,
    ...listedIfAny('needs', scenario.needs),
    ...listedIfAny('proves', proves),
    ...listedIfAny(
      'runs alone',
      [...new Set(cases.flatMap((item) => aloneReasons(claimsOf(item))))].map((reason) => aloneTexts[reason]),
    ),
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

const listFlags = {
  json: flag.mark('--json', 'print JSON'),
  mutants: flag.mark('--mutants', 'list the mutants: servers that are wrong in one way each'),
  requirements: flag.mark(
    '--requirements',
    'list the requirements with their sentences and how many cases and mutants each has',
  ),
  matrix: flag.mark('--matrix', "list the pairs of the model's matrix that are covered, and why the others are not"),
}

/** Scenarios, cases, requirements, open questions, mutants and the pairs of the model's matrix. */
export const list: flag.Command<typeof listFlags, string | undefined> = {
  about: 'list the scenarios with their cases and the requirements that they prove',
  operand: ['[id]', 'only what this id prefix or requirement id names'],
  flags: listFlags,
  async run(typed, id) {
    const { json, ...flags } = flag.read(listFlags, typed)
    const kinds = (['mutants', 'requirements', 'matrix'] as const).filter((kind) => flags[kind])
    if (kinds.length > 1) throw usageError(`Give one of "--${kinds.join('" and "--')}"`)
    const [kind = 'scenarios'] = kinds
    if (kind === 'matrix') {
      const { listMatrix } = await import('../explore/list-matrix.ts')
      return writeOut(await listMatrix(id ?? '', json, seedOfRelease))
    }
    const mutants = kind === 'scenarios' ? [] : await ownMutants()
    const listed = listOf(await openCorpus(), mutants, id)
    const { summary: _words, mutants: named, ...usual } = listed
    const parts = { scenarios: usual, mutants: named, requirements: usual.requirements }
    writeOut(json ? jsonLine(parts[kind], 2) : printableLines(texts[kind](listed)))
  },
}

type Listed = ReturnType<typeof listOf>

/** What `list --json` prints. @throws SuiteError (`usage`) for an unknown id, with a did-you-mean */
function listOf(corpus: Corpus, mutants: readonly BrokenServer[] = [], id?: string) {
  const all = allItems(corpus)
  const items = id === undefined ? all : selectedBy(id, all, corpus, mutants)
  const isWanted = (one: string): boolean => id === undefined || one === id || one.startsWith(`${id}/`)
  const requirements = corpus.requirements.filter(
    (one) =>
      isWanted(one.id) ||
      (id !== undefined && items.some((item) => item.key === id && provesOf(item).includes(one.id))),
  )
  return {
    scenarios: corpus.scenarios.flatMap((scenario) => {
      const cases = items.flatMap((item) =>
        item.kind === 'case' && item.scenario === scenario
          ? [{ key: item.key, case: item.testCase.name, proves: provesOf(item), alone: aloneReasons(claimsOf(item)) }]
          : [],
      )
      const { title, file, needs } = scenario
      return cases.length === 0 ? [] : [{ id: scenario.id, title, file, needs, cases }]
    }),
    testKeys: items.flatMap((item) => (item.kind === 'test-key' ? [{ key: item.key, proves: provesOf(item) }] : [])),
    requirements: requirements.map(({ id: requirement, level, kind, part, text, untestable }) => ({
      id: requirement,
      level,
      kind,
      part,
      text,
      untestable: untestable ?? null,
      cases: all.filter((item) => provesOf(item).includes(requirement)).map(({ key }) => key),
      mutants: mutants.filter(({ breaks }) => breaks === requirement).map((mutant) => mutant.id),
    })),
    mutants: mutants
      .filter((mutant) => id === undefined || mutant.id.startsWith(id) || isWanted(mutant.breaks))
      .map(({ id: mutant, breaks }) => ({ id: mutant, breaks })),
    questions: corpus.questions
      .filter((question) => isWanted(question.id))
      .map(({ id: name, part, question }) => ({ id: name, part, question })),
    summary: `${casesText(corpus)}; ${corpus.requirements.length} requirements (${mustsOf(corpus)} musts), ${corpus.questions.length} open questions`,
  }
}

/** The items that an id names; empty if it names only a mutant or an area of open questions. */
function selectedBy(id: string, items: readonly Item[], corpus: Corpus, mutants: readonly BrokenServer[]): Item[] {
  const found = items.filter((item) => answersTo(item, id))
  const isElsewhere =
    mutants.some((mutant) => mutant.id.startsWith(id)) ||
    [...corpus.questions, ...corpus.requirements].some((one) => one.id === id || one.id.startsWith(`${id}/`))
  if (found.length > 0 || isElsewhere) return found
  const areas = items.map(({ key }) => key.split('/')[0] ?? key)
  const keys = items.flatMap((item) => (item.kind === 'case' ? [item.scenario.id, item.key] : [item.key]))
  const ids = id.includes('/')
    ? [...keys, ...[...corpus.requirements, ...corpus.questions].map((one) => one.id)]
    : areas
  throw usageError(
    `Nothing is named "${id}"${suggestion(id, [...new Set(ids)]) || '; "list" without an id shows all ids'}`,
  )
}

const mustsOf = (corpus: Corpus): number => corpus.requirements.filter(({ level }) => level === 'must').length

const texts = {
  scenarios: ({ scenarios, testKeys, summary }: Listed): string =>
    lines([
      ...testKeys.map(({ key }) => key),
      ...scenarios.flatMap(({ id, title, needs, cases }) => [
        `${id}  ${title}${needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`}`,
        ...cases.flatMap(({ key, case: name }) => (name === null ? [] : [`  ${key}`])),
      ]),
      '',
      summary,
    ]),
  mutants: ({ mutants }: Listed): string =>
    lines([
      ...table(
        mutants.map(({ id, breaks }) => [id, breaks]),
        '',
      ),
      '',
      `${mutants.length} mutants, each with the requirement that it breaks`,
    ]),
  requirements: ({ requirements }: Listed): string =>
    lines([
      ...requirements.map(
        ({ id, level, text, cases, mutants }) =>
          `${id}  ${level}  ${text}  (${counted(cases.length, 'case')}, ${counted(mutants.length, 'mutant')})`,
      ),
      '',
      `${requirements.length} requirements`,
    ]),
}

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`

/** How many cases a whole run reports, and of what kind. */
export function casesText(corpus: Corpus): string {
  const items = allItems(corpus)
  const testKeys = items.filter(({ kind }) => kind === 'test-key').length
  const ofAnswers = envelopeCases([]).length
  const cases = items.length - testKeys
  return `${corpus.scenarios.length} scenarios with ${cases} cases (${cases + testKeys + ofAnswers} in a run, with ${testKeys} that create the test keys and ${ofAnswers} that check every answer)`
}

/** Why a case does not run at the same time as every other case. */
const aloneTexts: { readonly [reason in ReturnType<typeof aloneReasons>[number]]: string } = {
  'makes-keys': 'it may create keys, so it runs alone among the cases that do',
  'fills-sessions': 'it fills the sessions of a user, so no other case with such sessions runs at the same time',
  'fills-keys': 'it fills the places for keys, so it runs after all other cases',
  race: 'it makes calls at once to race them, so no other case runs at the same time',
}
