/// <reference lib="dom" />
/** Draws a result of the lab. Text only ever goes in as text: nothing that was pasted becomes markup. */

import { callersDataSays } from '../diagnose/callers-data.ts'
import type { NamedMistake } from '../diagnose/diagnose.ts'
import type { Stage } from '../diagnose/verify.ts'
import { fromLatin1, fromUtf8, toHex } from '../engine/signer/bytes.ts'
import type { Piece } from '../engine/signer/data-to-sign.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import type { LabResult } from './compute.ts'

type Checked = Extract<LabResult, { kind: 'checked' }>
type Child = Node | string

/** What requirements say, by id. */
export interface Sentences {
  [requirement: string]: string
}

const names: { [origin: string]: string } = {
  timestamp: 'timestamp',
  separator: 'semicolon',
  nonce: 'nonce',
  method: 'method',
  uri: 'URI',
  body: 'body',
  'line-end': 'line feed',
}

/** An element with text and elements in it. */
export function element(tag: string, className: string, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag)
  if (className !== '') made.className = className
  made.append(...children)
  return made
}

/** The mistakes, or what was ruled out. */
export function drawDiagnosis({ diagnosis, input }: Checked, sentences: Sentences): Child[] {
  if (diagnosis.valid) return callersDataSays(input).map((sentence) => element('p', '', sentence))
  const kind = input.key.kind === 'secret' ? 'secret' : 'private key'
  const unknown = diagnosis.explained
    ? []
    : [
        element(
          'p',
          'title',
          diagnosis.mistakes.length === 0
            ? `No known mistake: most likely another ${kind}`
            : `A further, unknown mistake: most likely another ${kind}`,
        ),
        ruledOut(diagnosis.ruledOut),
      ]
  const alternatives = diagnosis.alternatives.map(({ title, id }) => element('li', '', `${title} (${id})`))
  return [
    ...diagnosis.mistakes.map((mistake) => drawMistake(mistake, sentences)),
    ...(alternatives.length === 0
      ? []
      : [element('p', 'quiet', 'The same bytes come out when'), element('ul', 'quiet', ...alternatives)]),
    ...unknown,
    ...callersDataSays(input).map((sentence) => element('p', '', sentence)),
  ]
}

function drawMistake({ id, title, requirement, fix }: NamedMistake, sentences: Sentences): HTMLElement {
  return element(
    'article',
    'mistake',
    element('p', 'title', title),
    element('p', '', `Fix: ${fix}`),
    element('p', 'quiet', `The interface: ${sentences[requirement] ?? ''} (${requirement})`),
    element('p', 'quiet', 'Mistake ', element('code', '', id)),
  )
}

function ruledOut(ids: readonly string[]): HTMLElement {
  const items = ids.map((id) => element('li', '', mistakeById(id)?.title ?? id))
  return element(
    'details',
    '',
    element('summary', '', `Ruled out, each alone and with every other one: ${ids.length} mistakes`),
    element('ul', '', ...items),
  )
}

/** Each stage ticked or crossed. */
export function drawStages({ verification }: Checked): Child[] {
  return [element('h2', '', 'Stages'), element('ul', 'stages', ...verification.stages.map(drawStage))]
}

function drawStage({ name, ok, expected = '', received = '' }: Stage): HTMLElement {
  const mark = element('span', 'mark', ok ? '✓' : '✗')
  mark.setAttribute('aria-hidden', 'true')
  const verdict = element('span', '', ` ${name} ${ok ? 'right' : 'wrong'}`)
  if (ok) return element('li', 'good', mark, verdict)
  return element(
    'li',
    'bad',
    mark,
    verdict,
    element('div', '', 'expected ', element('code', '', expected)),
    element('div', '', 'received ', element('code', '', received === '' ? '(empty)' : received)),
  )
}

/** The data to sign, coloured by origin, with a table of the same for those who do not see colours. */
export function drawData({ pieces }: Checked): Child[] {
  if (pieces === null) return []
  const size = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const bytes = element('pre', 'bytes', ...pieces.map(drawPiece))
  // A scrolling or long region must be reachable by keyboard.
  bytes.tabIndex = 0
  bytes.setAttribute('aria-label', 'Data to sign as text')
  return [element('h2', '', `Data to sign, ${size} bytes`), legend(pieces), bytes, table(pieces)]
}

function drawPiece({ origin, bytes }: Piece): HTMLElement {
  const piece = element('span', `piece ${origin}`, ...visible(bytes))
  piece.title = names[origin] ?? origin
  return piece
}

function legend(pieces: readonly Piece[]): HTMLElement {
  const origins = [...new Set(pieces.map(({ origin }) => origin))]
  const items = origins.map((origin) => element('li', '', element('span', `piece ${origin}`, names[origin] ?? origin)))
  return element('ul', 'legend', ...items)
}

function table(pieces: readonly Piece[]): HTMLElement {
  const head = element('tr', '', ...['Part', 'Bytes', 'Hex'].map((title) => element('th', '', title)))
  const rows = pieces.map(({ origin, bytes }) => {
    const hex = toHex(bytes.subarray(0, 256)) + (bytes.length > 256 ? '…' : '')
    const name = element('th', '', names[origin] ?? origin)
    name.setAttribute('scope', 'row')
    return element('tr', '', name, element('td', '', String(bytes.length)), element('td', 'value', hex))
  })
  return element(
    'details',
    '',
    element('summary', '', 'Byte by byte'),
    element('table', '', element('thead', '', head), element('tbody', '', ...rows)),
  )
}

/** MAC, the 20 bytes that are sent, signature and header. */
export function drawSignature({ right, input }: Checked): Child[] {
  if (right === null) return []
  const { mac, signature, header } = right
  const hex = mac === undefined ? '' : toHex(mac)
  const lines: Child[] =
    mac === undefined
      ? []
      : [
          element('h2', '', 'MAC: the first 20 of 32 bytes are sent'),
          element('p', 'value', element('mark', '', hex.slice(0, 40)), hex.slice(40)),
        ]
  const title = input.key.kind === 'secret' ? 'Right signature' : 'Right signature (ED25519)'
  return [
    ...lines,
    element('h2', '', title),
    element('p', 'value', signature),
    element('h2', '', 'Right header'),
    element('p', 'value', header),
  ]
}

const controls: { [mark: string]: string } = { '\r': 'CR', '\n': 'LF', '\t': 'TAB', '\ufeff': 'BOM' }

/** Text in which line ends, tabs and byte order marks are seen by their names: few fonts have pictures for them. */
function visible(bytes: Uint8Array): Child[] {
  const text = fromUtf8(bytes) ?? fromLatin1(bytes)
  return text.split(/([\r\n\t\ufeff])/).flatMap((part) => {
    const name = controls[part]
    if (name === undefined) return part
    const control = element('span', 'control', name)
    return part === '\n' ? [control, '\n'] : control
  })
}
