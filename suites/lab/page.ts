/// <reference lib="dom" />
/** The lab page: reads the fields, draws the result. What it shows is computed in compute.ts, which knows no browser. */

import { defaultScheme } from '../engine/document.ts'
import type { FlatVector } from '../engine/language/vectors.ts'
import { fromLatin1, fromUtf8, toHex } from '../engine/signer/bytes.ts'
import type { Piece } from '../engine/signer/draft.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { type LabFields, labResult } from './compute.ts'
import { type NamedMistake, type NextStep, nextSteps, unexplainedSentence } from './diagnose.ts'
import type { Stage } from './verify.ts'
import { ownDataSentences } from './verify.ts'

type LabResult = ReturnType<typeof labResult>

/** What the build puts into the page. */
interface LabCorpus {
  vectors: FlatVector[]
  sentences: Sentences
}

/** The pause after typing before the page computes. In ms. */
const pauseMs = 150

const corpus = JSON.parse(byId('corpus').textContent ?? '') as LabCorpus
const form = byId('fields') as HTMLFormElement
let timer: ReturnType<typeof setTimeout> | undefined

function field(id: keyof LabFields | 'vector') {
  return byId(id) as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement
}

function readFields(): LabFields {
  return {
    request: field('request').value,
    body: field('body').value,
    bodyForm: field('bodyForm').value as LabFields['bodyForm'],
    key: field('key').value,
    otherSecrets: field('otherSecrets').value,
    method: field('method').value.trim(),
    uri: field('uri').value,
    url: field('url').value.trim(),
    scheme: field('scheme').value.trim(),
    ownData: field('ownData').value,
  }
}

function draw(result: LabResult): void {
  const verdict = byId('verdict')
  verdict.textContent = verdictOf(result)
  verdict.className = result.kind === 'waiting' ? '' : result.diagnosis.valid ? 'good' : 'bad'
  byId('note').textContent = result.kind === 'waiting' ? '' : result.note
  const checked = result.kind === 'checked' ? result : null
  byId('diagnosis').replaceChildren(...(checked === null ? [] : drawDiagnosis(checked, corpus.sentences)))
  byId('stages').replaceChildren(...(checked === null ? [] : drawStages(checked)))
  byId('data').replaceChildren(...(checked === null ? [] : drawData(checked)))
  byId('signature').replaceChildren(...(checked === null ? [] : drawSignature(checked)))
}

function verdictOf(result: LabResult): string {
  if (result.kind === 'waiting') return result.message
  const { diagnosis, verification } = result
  if (diagnosis.valid) return 'Valid: every stage is right'
  const failed = verification.stages.filter(({ ok }) => !ok).map(({ name }) => name)
  const found = diagnosis.explained ? '; the mistake is found' : '; no known mistake explains it'
  return `Not valid at ${failed.join(', ')}${found}`
}

function update(): void {
  draw(labResult(readFields()))
}

function updateSoon(): void {
  clearTimeout(timer)
  timer = setTimeout(update, pauseMs)
}

function load(vector: FlatVector): void {
  const withCr = vector.body === null || vector.body.includes('\r') || vector.body.startsWith('\ufeff')
  const values: LabFields = {
    request: vector.received ?? vector.header,
    body: withCr ? vector.bodyBase64 : (vector.body ?? ''),
    bodyForm: withCr ? 'base64' : 'text',
    key: vector.secret ?? vector.privateKey ?? '',
    otherSecrets: '',
    method: vector.method,
    uri: vector.uri,
    url: '',
    scheme: vector.valid ? vector.scheme : defaultScheme,
    ownData: '',
  }
  for (const [name, value] of Object.entries(values)) field(name as keyof LabFields).value = value
  update()
}

function offerVectors(): void {
  for (const valid of [true, false]) {
    const vectors = corpus.vectors.filter((one) => one.valid === valid)
    const options = vectors.map(({ id, title }) => element('option', { value: id }, title))
    field('vector').append(element('optgroup', { label: valid ? 'valid' : 'to be refused' }, ...options))
  }
}

/** The vector that the button "Show an example" loads: a common mistake that is found at once. */
const exampleId = 'vectors/invalid/hmac-untruncated'

function loadVector(id: string): void {
  const chosen = corpus.vectors.find((vector) => vector.id === id)
  if (chosen !== undefined) load(chosen)
}

/** Leads from a next step to the field that it names, which may be folded away. */
function goToField(target: EventTarget | null): void {
  const name = target instanceof HTMLElement ? target.dataset.field : undefined
  if (name === undefined) return
  const found = byId(name)
  const folded = found.closest('details')
  if (folded !== null) folded.open = true
  found.focus()
  found.scrollIntoView({ block: 'center' })
}

// ---- drawing

type Checked = Extract<LabResult, { kind: 'checked' }>

/** What requirements say, by id. */
interface Sentences {
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

/** The mistakes, or what was ruled out. */
function drawDiagnosis({ diagnosis, input }: Checked, sentences: Sentences): Child[] {
  if (diagnosis.valid) return ownDataSentences(input).map((sentence) => element('p', sentence))
  const alternatives = diagnosis.alternatives.map(({ title, id }) => element('li', `${title} (${id})`))
  return [
    ...diagnosis.mistakes.map((mistake) => drawMistake(mistake, sentences)),
    ...(alternatives.length === 0
      ? []
      : [
          element('p', { class: 'quiet' }, 'The same bytes come out when'),
          element('ul', { class: 'quiet' }, ...alternatives),
        ]),
    ...ownDataSentences(input).map((sentence) => element('p', sentence)),
    ...(diagnosis.explained ? [] : drawUnexplained(diagnosis, input)),
  ]
}

const stepTexts: { [step in NextStep]: string } = {
  'check-empty-body': 'The body given here is empty: paste the one that was sent.',
  'give-own-data': 'Paste the data that your code signs: their first wrong byte is shown.',
  'mend-own-data': 'Correct the data that your code signs at the byte named above, then sign again.',
  'compare-key':
    'Your data are right, so look at the key: compare its length and its first bytes where your code computes the signature.',
  'give-url': 'Give the whole URL that was called: mistakes with host, base path and query are tried as well.',
}

/** The field that a step leads to, by its id in the page. */
const stepFields: { [step in NextStep]?: string } = {
  'check-empty-body': 'body',
  'give-own-data': 'ownData',
  'mend-own-data': 'ownData',
  'compare-key': 'key',
  'give-url': 'url',
}

function drawUnexplained(diagnosis: Checked['diagnosis'], input: Checked['input']): Child[] {
  const steps = nextSteps(input).map((step) => {
    const button = { type: 'button', 'data-field': stepFields[step] ?? '' }
    return element('li', `${stepTexts[step]} `, element('button', button, 'Go to the field'))
  })
  return [
    element('p', { class: 'title' }, unexplainedSentence(input, diagnosis)),
    element('ol', { class: 'steps' }, ...steps),
    ruledOut(diagnosis.ruledOut),
  ]
}

function drawMistake({ id, title, requirement, fix }: NamedMistake, sentences: Sentences): HTMLElement {
  return element(
    'article',
    { class: 'mistake' },
    element('p', { class: 'title' }, title),
    element('p', `Fix: ${fix}`),
    element('p', { class: 'quiet' }, `The interface: ${sentences[requirement] ?? ''} (${requirement})`),
    element('p', { class: 'quiet' }, 'Mistake ', element('code', id)),
  )
}

function ruledOut(ids: readonly string[]): HTMLElement {
  const items = ids.map((id) => element('li', mistakeById(id)?.title ?? id))
  return element(
    'details',
    element('summary', `Ruled out, alone and together with others: ${ids.length} mistakes`),
    element('ul', ...items),
  )
}

/** Each stage ticked or crossed. */
function drawStages({ verification }: Checked): Child[] {
  return [element('h2', 'Stages'), element('ul', { class: 'stages' }, ...verification.stages.map(drawStage))]
}

function drawStage({ name, ok, expected = '', received = '' }: Stage): HTMLElement {
  const mark = element('span', { class: 'mark', 'aria-hidden': 'true' }, ok ? '✓' : '✗')
  const verdict = element('span', ` ${name} ${ok ? 'right' : 'wrong'}`)
  if (ok) return element('li', { class: 'good' }, mark, verdict)
  return element(
    'li',
    { class: 'bad' },
    mark,
    verdict,
    element('div', 'expected ', element('code', expected)),
    element('div', 'received ', element('code', received === '' ? '(empty)' : received)),
  )
}

/** The data to sign, coloured by origin, with a table for readers who do not see colours. */
function drawData({ pieces }: Checked): Child[] {
  if (pieces === null) return []
  const size = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
  // A scrolling or long region must be reachable by keyboard.
  const region = { class: 'bytes', tabindex: 0, 'aria-label': 'Data to sign as text' }
  const bytes = element('pre', region, ...pieces.map(drawPiece))
  return [element('h2', `Data to sign, ${size} bytes`), legend(pieces), bytes, table(pieces)]
}

function drawPiece({ origin, bytes }: Piece): HTMLElement {
  return element('span', { class: `piece ${origin}`, title: names[origin] ?? origin }, ...visible(bytes))
}

function legend(pieces: readonly Piece[]): HTMLElement {
  const origins = [...new Set(pieces.map(({ origin }) => origin))]
  const items = origins.map((origin) =>
    element('li', element('span', { class: `piece ${origin}` }, names[origin] ?? origin)),
  )
  return element('ul', { class: 'legend' }, ...items)
}

function table(pieces: readonly Piece[]): HTMLElement {
  const head = element('tr', ...['Part', 'Bytes', 'Hex'].map((title) => element('th', title)))
  const rows = pieces.map(({ origin, bytes }) => {
    const hex = toHex(bytes.subarray(0, 256)) + (bytes.length > 256 ? '…' : '')
    const name = element('th', { scope: 'row' }, names[origin] ?? origin)
    return element('tr', name, element('td', String(bytes.length)), element('td', { class: 'value' }, hex))
  })
  return element(
    'details',
    element('summary', 'Byte by byte'),
    element('table', element('thead', head), element('tbody', ...rows)),
  )
}

/** MAC, the 20 bytes that are sent, signature and header. */
function drawSignature({ right, input }: Checked): Child[] {
  if (right === null) return []
  const { mac, signature, header } = right
  const hex = mac === undefined ? '' : toHex(mac)
  const lines: Child[] =
    mac === undefined
      ? []
      : [
          element('h2', 'MAC: the first 20 of 32 bytes are sent'),
          element('p', { class: 'value' }, element('mark', hex.slice(0, 40)), hex.slice(40)),
        ]
  const title = input.key.kind === 'secret' ? 'Right signature' : 'Right signature (ED25519)'
  return [
    ...lines,
    element('h2', title),
    element('p', { class: 'value' }, signature),
    element('h2', 'Right header'),
    element('p', { class: 'value' }, header),
  ]
}

const controls: { [mark: string]: string } = { '\r': 'CR', '\n': 'LF', '\t': 'TAB', '\ufeff': 'BOM' }

/** Shows line ends, tabs and byte order marks by name, because few fonts have signs for them. */
function visible(bytes: Uint8Array): Child[] {
  const text = fromUtf8(bytes) ?? fromLatin1(bytes)
  return text.split(/([\r\n\t\ufeff])/).flatMap((part) => {
    const name = controls[part]
    if (name === undefined) return part
    const control = element('span', { class: 'control' }, name)
    return part === '\n' ? [control, '\n'] : control
  })
}

// ---- the start, when everything above is there

offerVectors()
field('vector').addEventListener('change', () => loadVector(field('vector').value))
byId('example').addEventListener('click', () => {
  field('vector').value = exampleId
  loadVector(exampleId)
})
byId('diagnosis').addEventListener('click', (event) => goToField(event.target))
form.addEventListener('input', (event) => {
  if (event.target !== field('vector')) updateSoon()
})
form.addEventListener('submit', (event) => event.preventDefault())
// The fields are empty only after the event.
form.addEventListener('reset', () => setTimeout(update))
update()

type Child = Node | string

interface Attributes {
  [name: string]: string | number | boolean
}

/**
 * Attributes and children. `true` writes an empty attribute, `false` none. Children that are strings become text: nothing that was pasted or read
 * becomes markup.
 */
function element(tag: string, ...parts: (Attributes | Child)[]): HTMLElement {
  const made = document.createElement(tag)
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Node) made.append(part)
    else
      for (const [name, value] of Object.entries(part))
        if (value !== false) made.setAttribute(name, value === true ? '' : String(value))
  }
  return made
}

/** An element that the page must have. @throws Error without it */
function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`Missing element "${id}"`)
  return found
}
