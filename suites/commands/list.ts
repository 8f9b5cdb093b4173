import type { Command } from 'commander'
import { loadCorpus } from '../engine/fixture/corpus.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'

/** `list [--json]`: what the suite can ask. */
export function registerList(program: Command): void {
  program
    .command('list')
    .description('list the scenarios with their rows, and what they prove')
    .option('--json', 'for scripts')
    .action((flags: { json?: boolean }) => {
      const corpus = loadCorpus(packageRoot)
      process.stdout.write(flags.json === true ? `${JSON.stringify(listOf(corpus), null, 2)}\n` : listText(corpus))
    })
}

/** What `list --json` prints. */
export function listOf(corpus: Corpus) {
  return {
    scenarios: corpus.scenarios.map(({ id, title, file, needs, proves, rows }) => ({
      id,
      title,
      file,
      needs,
      proves,
      rows: rows.flatMap(({ name, slug, proves: own }) =>
        name === null ? [] : [{ key: `${id}/${slug}`, name, proves: own ?? proves }],
      ),
    })),
    requirements: corpus.requirements.map(({ id, level, kind, part, text, untestable }) => ({
      id,
      level,
      kind,
      part,
      text,
      untestable: untestable ?? null,
      scenarios: corpus.scenarios
        .filter(({ proves, rows }) => rows.some((row) => (row.proves ?? proves).includes(id)))
        .map((scenario) => scenario.id),
    })),
    questions: corpus.questions.map(({ id, part, question }) => ({ id, part, question })),
  }
}

function listText(corpus: Corpus): string {
  const scenarios = corpus.scenarios.flatMap(({ id, title, needs, rows }) => [
    `${id}  ${title}${needs.length === 0 ? '' : `  (needs ${needs.join(', ')})`}`,
    ...rows.flatMap(({ name, slug }) => (name === null ? [] : [`  ${id}/${slug}`])),
  ])
  const rows = corpus.scenarios.reduce((sum, scenario) => sum + scenario.rows.length, 0)
  const musts = corpus.requirements.filter(({ level }) => level === 'must').length
  return [
    ...scenarios,
    '',
    `${corpus.scenarios.length} scenarios, ${rows} rows, ${corpus.requirements.length} requirements (${musts} musts), ${corpus.questions.length} open questions`,
    '',
  ].join('\n')
}
