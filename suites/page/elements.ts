/// <reference lib="dom" />
/** Makes the elements of a page. Text only ever goes in as text: nothing that was pasted or read becomes markup. */

export type Child = Node | string

interface Attributes {
  [name: string]: string | number | boolean
}

/** Attributes: `true` writes an empty one, `false` none. Children that are strings become text. */
export function element(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag)
  setAttributes(made, attributes)
  made.append(...children)
  return made
}

/** The same for a picture. */
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

/** An element that the page must have. @throws Error without it */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`Missing element "${id}"`)
  return found
}
