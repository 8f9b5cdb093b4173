/// <reference lib="dom" />
/** Makes elements. Text only ever goes in as text: nothing that a report says becomes markup. */
import type { Verdict } from '../../engine/judge/verdict.ts'
import { glyphs, words } from '../verdict-words.ts'

export type Child = Node | string

export interface Attributes {
  [name: string]: string | number | boolean
}

export function element(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag)
  setAttributes(made, attributes)
  made.append(...children)
  return made
}

export function svgElement(tag: string, attributes: Attributes, ...children: Child[]): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  setAttributes(made, attributes)
  made.append(...children)
  return made
}

function setAttributes(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) continue
    made.setAttribute(name, value === true ? '' : String(value))
  }
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`Missing element "${id}"`)
  return found
}

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
