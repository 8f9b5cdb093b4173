/**
 * What a report tells a person, before it has a markup: a few kinds of blocks, with printable texts. `text.ts`, `markdown.ts` and `html.ts`
 * each have one renderer for all of them.
 */
import type { Verdict } from '../engine/judge/problem.ts'
import type { Report } from './report.ts'

/** Words of a line. `to`: the id of what they lead to on an HTML page. */
type Span = string | { text: string; as: 'code' | 'soft'; to?: string | undefined }
export type Line = string | readonly Span[]

/** A line with what stands before it, a sign or a word, and lines below it. Nothing stands before it if its label is empty. */
export interface Item {
  verdict?: Verdict
  label?: string
  text: Line
  below?: readonly Line[]
}

/** Blocks without lines, items or rows are left out with their headings. */
export type Block = {
  heading?: string
  tone?: Tone
  /** Markups that can fold show it folded; a terminal prints this sentence instead. */
  folded?: string
} & (
  | { kind: 'lines'; lines: readonly Line[] }
  | { kind: 'list' | 'facts'; items: readonly Item[] }
  | { kind: 'table'; head: readonly string[]; rows: readonly (readonly (string | number)[])[] }
  /** Lines as they are. After `> ` they were sent, after `< ` received. */
  | { kind: 'code'; label: string; lines: readonly string[] }
  | { kind: 'command'; label: string; command: string }
  | Told
)

type Tone = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

/** A case, a finding or the check of a client. */
export interface Told {
  kind: 'told'
  verdict: Verdict
  id: string
  /** What should hold, or what was found. */
  title: string
  /** Why it did not pass; it stands for the blocks where there is no room for them. */
  message: string
  blocks: readonly Block[]
  /** What else has the same cause, and what it blocks. */
  also?: readonly Item[]
}

/** A whole report. */
export interface Document extends Pick<Report, 'verdict' | 'exitCode'> {
  /** What was judged. */
  title: string
  /** Words instead of the verdict, where it is no proof: then nothing is green. */
  said?: string
  /** Who judged it, when and how. */
  head: readonly Line[]
  /** Why not everything was judged, if the run was ended. A text, whose verdict comes last, begins with it. */
  ended?: string | undefined
  /** How many of what were judged. */
  summary: string
  /** What a reader looks at first, and why the verdict is what it is. */
  problems: readonly Item[]
  conclusion: readonly Item[]
  told: readonly Block[]
  /** Shown before what is told, where the verdict comes first. */
  overview: readonly Block[]
  rest: readonly Block[]
}

export const code = (text: string, to?: string): Span => ({ text, as: 'code', to })
export const soft = (text: string): Span => ({ text, as: 'soft' })

/** A fact; nothing without a text. */
export function fact(label: string, text: Line | null | undefined | false, ...below: Line[]): Item[] {
  return text === null || text === undefined || text === false ? [] : [{ label, text, below }]
}

/** Lines of a conclusion: one that begins with two blanks belongs to the line above. */
export function conclusionItems(conclusion: readonly string[]): Item[] {
  const items: { label: string; text: string; below: string[] }[] = []
  for (const line of conclusion) {
    const above = items.at(-1)
    if (line.startsWith('  ') && above !== undefined) above.below.push(line.trim())
    else items.push({ label: '', text: line.trim(), below: [] })
  }
  return items
}
