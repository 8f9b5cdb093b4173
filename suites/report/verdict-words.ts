/** The words and signs that every format shares. */
import type { Verdict } from '../engine/judge/problem.ts'
import { html, type Markup } from '../page/markup.ts'
import type { KnownEntry, Report, RunVerdict } from './report.ts'

/** One sign for each verdict and what it means, in the order in which a reader wants to see verdicts. */
const signs: { readonly [verdict in Verdict]: readonly [glyph: string, meaning: string] } = {
  failed: ['✗', 'the server broke a sentence of the document'],
  blocked: ['■', 'a preparation or a control did not work, so nothing could be judged'],
  warned: ['!', 'the server broke something that the document only implies'],
  known: ['~', 'failed, and listed in the baseline'],
  'not-run': ['…', 'the run ended before it, or it was not selected'],
  'not-testable': ['–', 'the target or the document lacks what would show it'],
  'not-applicable': ['·', 'the target file declares the API area absent'],
  passed: ['✓', 'the expectation held, and so did the control'],
}

export const verdictOrder = Object.keys(signs) as readonly Verdict[]

type PerVerdict = { readonly [verdict in Verdict]: string }

export const glyphs = Object.fromEntries(verdictOrder.map((verdict) => [verdict, signs[verdict][0]])) as PerVerdict

/** The signs of the verdicts that occur, for an HTML page that explains them. */
export function legendOf(used: ReadonlySet<Verdict | null>): Markup[] {
  return verdictOrder
    .filter((verdict) => used.has(verdict))
    .map(
      (verdict) =>
        html`<li><span class="sign fill ${verdict}" aria-hidden="true">${glyphs[verdict]}</span> <b>${words(verdict)}</b> ${signs[verdict][1]}</li>`,
    )
}

/** The verdict of the run and its exit code, on one line that scripts may look for. @param said words that say less than the verdict */
export function verdictLine({
  verdict,
  exitCode,
  said,
}: Pick<Report, 'verdict' | 'exitCode'> & { said?: string }): string {
  return `Verdict: ${said ?? words(verdict)} (exit code ${exitCode})`
}

/** The verdict of a case that looks like the verdict of a whole run: it gives the colour. */
export function toneOf(verdict: RunVerdict): 'passed' | 'warned' | 'failed' {
  return verdict === 'conforms' ? 'passed' : verdict === 'inconclusive' ? 'warned' : 'failed'
}

/** `not testable`: a verdict as a reader says it. */
export function words(verdict: string): string {
  return verdict.replaceAll('-', ' ')
}

/** The target of a run as a reader knows it. */
export function targetWords({ target }: { readonly target: string }): string {
  return target === 'bundled' ? 'the bundled server' : target
}

/** `, shard 1/4` after the other facts of a run; nothing for a whole run. */
export function shardWords({ shard }: { readonly shard: string | null }): string {
  return shard === null ? '' : `, shard ${shard}`
}

/** Why a failure is known, with its issue. */
export function knownWords({ reason, issue }: Pick<KnownEntry, 'reason' | 'issue'>): string {
  return issue === null ? reason : `${reason} (${issue})`
}
