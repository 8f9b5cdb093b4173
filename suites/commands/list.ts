import type { Command } from 'commander'
import { openCorpus } from '../corpus-cache.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import { allItems, provesOf } from '../engine/items.ts'
import { envelopeRows } from '../engine/report/envelope.ts'

/** `list [--json]`: what the suite can ask. */
export function registerList(program: Command): void {
  program
    .command('list')
    .description('list the scenarios with their rows, and what they prove')
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
      rows: items.flatMap((item) =>
        item.kind === 'row' && item.scenario === scenario
          ? [{ key: item.key, row: item.row.name, proves: [...new Set(provesOf(item))] }]
          : [],
      ),
    })),
    cast: items.flatMap((item) => (item.kind === 'cast' ? [{ key: item.key, proves: provesOf(item) }] : [])),
    requirements: corpus.requirements.map(({ id, level, kind, part, text, untestable }) => ({
      id,
      level,
      kind,
      part,
      text,
      untestable: untestable ?? null,
      rows: items.filter((item) => provesOf(item).includes(id)).map(({ key }) => key),
    })),
    questions: corpus.questions.map(({ id, part, question }) => ({ id, part, question })),
  }
}

function listText(corpus: Corpus): string {
  const scenarios = corpus.scenarios.flatMap(({ id, title, needs, rows }) => [
    `${id}  ${title}${needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`}`,
    ...rows.flatMap(({ name, slug }) => (name === null ? [] : [`  ${id}/${slug}`])),
  ])
  const musts = corpus.requirements.filter(({ level }) => level === 'must').length
  return [
    ...scenarios,
    '',
    `${rowsText(corpus)}; ${corpus.requirements.length} requirements (${musts} musts), ${corpus.questions.length} open questions`,
    '',
  ].join('\n')
}

/** How many rows a whole run reports, and of what kind. */
export function rowsText(corpus: Corpus): string {
  const items = allItems(corpus)
  const cast = items.filter(({ kind }) => kind === 'cast').length
  const ofAnswers = envelopeRows([]).length
  const rows = items.length - cast
  return `${corpus.scenarios.length} scenarios with ${rows} rows; with ${cast} that make the cast and ${ofAnswers} about every answer, ${rows + cast + ofAnswers} in a run`
}
