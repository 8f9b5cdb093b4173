import type { Command } from 'commander'
import { allItems, provesOf } from '../engine/case/cases.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import { envelopeCases } from '../report/envelope.ts'
import { openCorpus } from '../run/corpus-cache.ts'

/** `list [--json]`: what the suite can ask. */
export function registerList(program: Command): void {
  program
    .command('list')
    .description('list the scenarios with their cases, and what they prove')
    .option('--json', 'for scripts')
    .action(async (flags: { json?: boolean }) => {
      const corpus = await openCorpus()
      process.stdout.write(flags.json === true ? `${JSON.stringify(listOf(corpus), null, 2)}\n` : listText(corpus))
    })
}

/** What `list --json` prints. */
export function listOf(corpus: Corpus) {
  const items = allItems(corpus)
  return {
    scenarios: corpus.scenarios.map((scenario) => ({
      id: scenario.id,
      title: scenario.title,
      file: scenario.file,
      needs: scenario.needs,
      cases: items.flatMap((item) =>
        item.kind === 'case' && item.scenario === scenario
          ? [{ key: item.key, case: item.testCase.name, proves: [...new Set(provesOf(item))] }]
          : [],
      ),
    })),
    testKeys: items.flatMap((item) => (item.kind === 'test-key' ? [{ key: item.key, proves: provesOf(item) }] : [])),
    requirements: corpus.requirements.map(({ id, level, kind, part, text, untestable }) => ({
      id,
      level,
      kind,
      part,
      text,
      untestable: untestable ?? null,
      cases: items.filter((item) => provesOf(item).includes(id)).map(({ key }) => key),
    })),
    questions: corpus.questions.map(({ id, part, question }) => ({ id, part, question })),
  }
}

function listText(corpus: Corpus): string {
  const scenarios = corpus.scenarios.flatMap(({ id, title, needs, cases }) => [
    `${id}  ${title}${needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`}`,
    ...cases.flatMap(({ name, slug }) => (name === null ? [] : [`  ${id}/${slug}`])),
  ])
  const musts = corpus.requirements.filter(({ level }) => level === 'must').length
  return [
    ...scenarios,
    '',
    `${casesText(corpus)}; ${corpus.requirements.length} requirements (${musts} musts), ${corpus.questions.length} open questions`,
    '',
  ].join('\n')
}

/** How many cases a whole run reports, and of what kind. */
export function casesText(corpus: Corpus): string {
  const items = allItems(corpus)
  const testKeys = items.filter(({ kind }) => kind === 'test-key').length
  const ofAnswers = envelopeCases([]).length
  const cases = items.length - testKeys
  return `${corpus.scenarios.length} scenarios with ${cases} cases; with ${testKeys} that make the test keys and ${ofAnswers} about every answer, ${cases + testKeys + ofAnswers} in a run`
}
