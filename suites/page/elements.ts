/// <reference lib="dom" />
/** Makes the elements of a page. Text only ever goes in as text: nothing that was pasted or read becomes markup. */

export type Child = Node | string

interface Attributes {
  [name: string]: string | number | boolean
}

/** Attributes and children. `true` writes an empty attribute, `false` none. Children that are strings become text. */
export function element(tag: string, ...parts: (Attributes | Child)[]): HTMLElement {
  return filled(document.createElement(tag), parts)
}

/** The same for a picture. */
export function svgElement(tag: string, ...parts: (Attributes | Child)[]): SVGElement {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), parts)
}

function filled<E extends Element>(made: E, parts: readonly (Attributes | Child)[]): E {
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Node) made.append(part)
    else
      for (const [name, value] of Object.entries(part))
        if (value !== false) made.setAttribute(name, value === true ? '' : String(value))
  }
  return made
}

/** An element that the page must have. @throws Error without it */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`Missing element "${id}"`)
  return found
}
