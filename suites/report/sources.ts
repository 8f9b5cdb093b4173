/** The texts that a report refers to: the document in our words, and the fixtures. Pages embed them, so that their links work. */
import type { CaseReport } from './report.ts'

/** Texts by their path in this package. */
export type Sources = ReadonlyMap<string, string>

export const documentFile = 'spec/interface.md'
const testKeysFile = 'fixtures/test-keys.yaml'

/** The file that a case was read from, and the line of the step that the report is about. */
export function placeOfCase({ id, problem }: Pick<CaseReport, 'id' | 'problem'>): {
  file: string
  line: number | null
} {
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(problem?.where ?? '') ?? []
  if (file !== undefined) return { file, line: Number(line) }
  return { file: id.startsWith('test-keys/') ? testKeysFile : `fixtures/scenarios/${id}.yaml`, line: null }
}

/** The files that a report links to. Files of a user's own scenarios are not among them. */
export function filesOfCases(cases: readonly Pick<CaseReport, 'id' | 'problem'>[]): string[] {
  const files = cases.map((testCase) => placeOfCase(testCase).file)
  return [...new Set(files)].filter((file) => packagedFile.test(file)).sort()
}

const packagedFile = /^fixtures\/(test-keys|scenarios(\/[a-z0-9-]+)+)\.yaml$/

/** The document's text at the anchor of a requirement, without markup; null if the text is not available. */
export function documentSentence(sources: Sources, requirement: string): string | null {
  const anchor = `<a id="${requirement.replace('/', '-')}"></a>`
  const line = sources
    .get(documentFile)
    ?.split('\n')
    .find((one) => one.includes(anchor))
  const [text = ''] = line?.slice(line.indexOf(anchor) + anchor.length).split(/<a id=| \|/) ?? []
  return text === '' ? null : withoutMarks(text)
}

function withoutMarks(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
}
