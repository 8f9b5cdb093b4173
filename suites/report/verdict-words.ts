/** The words and signs that every format shares. */
import { counted } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import type { KnownEntry, RunVerdict } from './report.ts'

/** One sign for each verdict and what it means, in the order in which a reader wants to see verdicts. */
const signs: { readonly [verdict in Verdict]: readonly [glyph: string, meaning: string] } = {
  failed: ['✗', 'the server broke a sentence of the document'],
  blocked: ['■', 'a preparation or a control did not work, so nothing could be judged'],
  warned: ['!', 'the server broke something that the document only implies'],
  known: ['~', 'failed, and listed in the baseline'],
  'not-run': ['…', 'the run ended before it'],
  'not-testable': ['–', 'the target lacks something that the case needs'],
  'not-applicable': ['·', 'the target file declares the API area absent'],
  passed: ['✓', 'the expectation held, and so did the control'],
}

export const verdictOrder = Object.keys(signs) as readonly Verdict[]

export const glyphs = partOfSigns(0)

export const meanings = partOfSigns(1)

function partOfSigns(part: 0 | 1): { readonly [verdict in Verdict]: string } {
  return Object.fromEntries(verdictOrder.map((verdict) => [verdict, signs[verdict][part]])) as {
    [verdict in Verdict]: string
  }
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

/** `1 case`, `7 cases`. */
export function casesOf(count: number): string {
  return counted(count, 'case')
}
