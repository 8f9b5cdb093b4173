/// <reference lib="dom" />
import type { Verdict } from '../../engine/judge/problem.ts'
import { element } from '../../page/elements.ts'
import { glyphs, words } from '../verdict-words.ts'

/** The sign of a verdict, with its word for those who do not see it. */
export function sign(verdict: Verdict | null): HTMLElement {
  if (verdict === null) return element('span', { class: 'sign', title: 'not run' }, '')
  const title = words(verdict)
  return element('span', { class: `sign fill ${verdict}`, title, role: 'img', 'aria-label': title }, glyphs[verdict])
}

/** `2026-01-02 03:04`, in UTC as in the report. */
export function dateWords(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ')
}
