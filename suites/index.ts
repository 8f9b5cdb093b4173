/** The public door of the engine: `svc-conformance/engine`. */
import { runRenderers } from './report/formats.ts'

export { allItems, answersTo, type Item, selectItems } from './engine/conversation/cases.ts'
export { SuiteError } from './engine/errors.ts'
export type * from './engine/judge/problem.ts'
export { loadCorpus } from './engine/language/corpus.ts'
export type * from './engine/language/fixture-types.ts'
export { packageRoot } from './engine/language/package-root.ts'
export { seededRandom, systemRandom } from './engine/signer/random.ts'
export { type Signed, type SignInput, type SigningKey, sign } from './engine/signer/sign.ts'
export type * from './engine/target.ts'
export { buildReport } from './report/build.ts'
export { renderHtml } from './report/html.ts'
export type * from './report/report.ts'
export { type RunAllOptions, runAll } from './run/run.ts'
export const { json: renderJson, junit: renderJunit, markdown: renderMarkdown, text: renderText } = runRenderers()
