/** Blocks as one self-contained page of HTML: no network, its own policy forbids it. */
import { type Printable, vouchedFor } from '../engine/printable.ts'
import { asset, pagePolicy, pageStyle } from '../page/build-page.ts'
import { html, htmlLines, type Markup } from '../page/markup.ts'
import type { Block, Document, Item, Line, Told } from './document.ts'
import { glyphs, toneOf, words } from './verdict-words.ts'

/** The look of the reports, beside what all pages share. */
const styleFile = 'suites/report/report.css'

/** What a page has besides the document. */
interface PageParts {
  main: Markup
  /** Before the header: links for those who use a keyboard. */
  skip?: Markup
  /** Path of the only script; without it the page has none. */
  script?: string
}

/** A page that shows every part of a document. */
export function htmlOfDocument(told: Document): Printable {
  const { told: all, overview, rest } = told
  return htmlPage(told, { main: htmlLines([...overview, ...all, ...rest].map(htmlOf)) })
}

/** A page with the head of a document, and another main part. */
export function htmlPage(told: Document, { main, skip = html``, script }: PageParts): Printable {
  const { title, head, summary, verdict, exitCode, problems, conclusion } = told
  const style = pageStyle(styleFile)
  // In a block, so that its names stay out of the page.
  const code = script === undefined ? null : `{\n${asset(script)}}`
  // An ordinary string: bundlers treat the end of a script in a tagged one as a danger, and add a package that cannot be found.
  const scriptElement = { markup: code === null ? '' : `\n<script>${code}</script>` }
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${{ markup: pagePolicy(style, code) }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: ${words(verdict)}</title>
<style>${{ markup: style }}</style>
</head>
<body>
${skip}<header>
<h1>${title}</h1>
<p class="soft">${joined(head.map(htmlOfLine), html`<br>`)}</p>
<p class="verdict fill ${toneOf(verdict)}">${words(verdict)} <span class="exit">exit code ${exitCode}</span></p>
<p>${summary}</p>
${problems.length === 0 ? null : html`<div class="problems">${list(problems)}</div>`}${list(conclusion)}
</header>
<main>
${main}
</main>
<footer>${head[0] === undefined ? null : htmlOfLine(head[0])}</footer>
</body>${scriptElement}
</html>
`
  return vouchedFor(page.markup)
}

/** A block; nothing where it has no lines. */
export function htmlOf(block: Block): Markup {
  const body = bodyOf(block)
  // Within a case there are no headings.
  if (block.kind === 'code') return block.heading === undefined ? body : html`<p>${block.heading}</p>${body}`
  return body.markup === '' || block.heading === undefined ? body : html`<h2>${block.heading}</h2>\n${body}`
}

function bodyOf(block: Block): Markup {
  switch (block.kind) {
    case 'lines':
      return htmlLines(block.lines.map((line) => html`<p>${htmlOfLine(line)}</p>`))
    case 'list':
      return list(block.items)
    case 'facts':
      return facts(block.items)
    case 'table': {
      const rows = block.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)
      return rows.length === 0 ? html`` : stackTable(block.head, rows)
    }
    case 'code':
      return pre(block.label, block.lines)
    case 'command':
      return html`<div class="again">${pre('Command that repeats it', [block.command])}<button type="button" class="copy" hidden>Copy</button></div>`
    case 'told':
      return toldDetails(block)
  }
}

/** What a reader unfolds. @param more how it differs from a case that is only open if it failed */
export function toldDetails(
  told: Told,
  more: { id?: string; isOpen?: boolean; data?: Markup; kind?: string } = {},
): Markup {
  const { verdict, id, title, blocks, also = [] } = told
  const { id: anchor = `check/${id}`, isOpen = verdict === 'failed', data = html``, kind = 'case' } = more
  const open = isOpen ? html` open` : null
  const body = [...blocks, { kind: 'facts' as const, items: also }].map(htmlOf)
  return html`<details class="${kind} ${verdict}" id="${anchor}"${data}${open}><summary>${signed(verdict)} <code>${id}</code> ${title}</summary><div class="body">${body}</div></details>`
}

/** The sign of a verdict and its word. */
const signed = (verdict: Told['verdict']): Markup =>
  html`<span class="${verdict}"><span class="mark" aria-hidden="true">${glyphs[verdict]}</span> ${words(verdict)}</span>`

function list(items: readonly Item[]): Markup {
  if (items.length === 0) return html``
  const lines = items.map(({ verdict, text, below = [] }) => {
    const sign = verdict === undefined ? null : html`${signed(verdict)} `
    return html`<li>${sign}${htmlOfLine(text)}${below.map((line) => html`<br>${htmlOfLine(line)}`)}</li>`
  })
  return html`<ul>${lines}</ul>`
}

function facts(items: readonly Item[]): Markup {
  if (items.length === 0) return html``
  const lines = items.map(
    ({ label = '', text, below = [] }) =>
      html`<dt>${label}</dt><dd>${joined([text, ...below].map(htmlOfLine), html`<br>`)}</dd>`,
  )
  return html`<dl>${lines}</dl>`
}

/** A table whose rows become blocks on a narrow screen. */
export function stackTable(head: readonly string[], rows: readonly Markup[]): Markup {
  return html`<div class="table"><table class="stack"><thead><tr>${head.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${htmlLines(rows)}</tbody></table></div>`
}

/** Lines as they are, which a keyboard can scroll. */
export function pre(label: string, lines: readonly (string | Markup)[]): Markup {
  const written = lines.map((line) => (typeof line === 'string' ? exchangeLine(line) : line))
  return html`<pre tabindex="0" role="region" aria-label="${label}">${joined(written, html`\n`)}</pre>`
}

function exchangeLine(line: string): Markup {
  const side = line.startsWith('> ') ? 'out' : 'in'
  return /^[<>] /.test(line) ? html`<span class="${side}">${bytes(line)}</span>` : bytes(line)
}

/** Sent bytes. Few fonts have ␊ and ␍, so LF and CR stand for them. */
export function bytes(line: string): Markup {
  const parts = line.split(/([␊␍])/)
  return html`${parts.map((part) => (part === '␊' ? html`<i title="line feed">LF</i>` : part === '␍' ? html`<i title="carriage return">CR</i>` : part))}`
}

function htmlOfLine(line: Line): Markup {
  if (typeof line === 'string') return html`${line}`
  return html`${line.map((span) => {
    if (typeof span === 'string') return span
    if (span.as === 'soft') return html`<span class="soft">${span.text}</span>`
    return span.to === undefined ? html`<code>${span.text}</code>` : linkTo(span.to, html`<code>${span.text}</code>`)
  })}`
}

/** A link inside the page. */
export const linkTo = (id: string, text: Markup): Markup => html`<a href="#${encodeURI(id)}">${text}</a>`

const joined = (parts: readonly Markup[], between: Markup): Markup =>
  html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`
