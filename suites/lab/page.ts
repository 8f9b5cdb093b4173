/// <reference lib="dom" />
/** The lab page: reads the fields, draws the result. What it shows is computed in compute.ts, which knows no browser. */

import { defaultScheme } from '../engine/document.ts'
import type { FlatVector } from '../engine/language/vectors.ts'
import { fromLatin1, fromUtf8, toHex } from '../engine/signer/bytes.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { html, type Part } from '../page/markup.ts'
import { labResult } from './compute.ts'
import { type Diagnosis, nextSteps, unexplainedSentence } from './diagnose.ts'
import { judgeOwnData, type verify } from './verify.ts'

type LabResult = ReturnType<typeof labResult>

/** What the build puts into the page. */
interface LabCorpus {
  vectors: FlatVector[]
  /** What requirements say, by id. */
  sentences: { readonly [requirement: string]: string }
}

/** The pause after typing before the page computes. In ms. */
const pauseMs = 150

type LabFields = Parameters<typeof labResult>[0]

const corpus = JSON.parse(byId('corpus').textContent ?? '') as LabCorpus
const form = byId('fields') as HTMLFormElement

function field(id: keyof LabFields | 'vector') {
  return byId(id) as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement
}

/** Every field of the form has its name as its id. */
function readFields(): LabFields {
  const all = form.querySelectorAll<HTMLInputElement>('input, textarea, select')
  return Object.fromEntries(Array.from(all, ({ id, value }) => [id, value])) as unknown as LabFields
}

function show(result: LabResult): void {
  const verdict = byId('verdict')
  verdict.textContent = verdictOf(result)
  verdict.className = result.kind === 'waiting' ? '' : result.diagnosis.valid ? 'good' : 'bad'
  byId('note').textContent = result.kind === 'waiting' ? '' : result.note
  const parts = { diagnosis: drawDiagnosis, stages: drawStages, data: drawData, signature: drawSignature }
  for (const [id, draw] of Object.entries(parts))
    byId(id).innerHTML = result.kind === 'waiting' ? '' : html`${draw(result)}`.markup
}

function verdictOf(result: LabResult): string {
  if (result.kind === 'waiting') return result.message
  const { diagnosis, verification } = result
  if (diagnosis.valid) return 'Valid: every stage is right'
  const failed = verification.stages.filter(({ ok }) => !ok).map(({ name }) => name)
  const found = diagnosis.explained ? '; the mistake is found' : '; no known mistake explains it'
  return `Not valid at ${failed.join(', ')}${found}`
}

const update = (): void => show(labResult(readFields()))

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
    const options = vectors.map(({ id, title }) => html`<option value="${id}">${title}</option>`)
    const group = html`<optgroup label="${valid ? 'valid' : 'to be refused'}">${options}</optgroup>`
    field('vector').insertAdjacentHTML('beforeend', group.markup)
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

const names: { [origin: string]: string } = {
  timestamp: 'timestamp',
  separator: 'semicolon',
  nonce: 'nonce',
  method: 'method',
  uri: 'URI',
  body: 'body',
  'line-end': 'line feed',
}
const nameOf = (origin: string): string => names[origin] ?? origin

/** The mistakes, or what was ruled out. */
function drawDiagnosis({ diagnosis, input }: Checked): Part {
  const ofOwnData = (judgeOwnData(input)?.sentences ?? []).map((sentence) => html`<p>${sentence}</p>`)
  if (diagnosis.valid) return ofOwnData
  const others = diagnosis.alternatives.map(({ title, id }) => html`<li>${title} (${id})</li>`)
  const alternatives = html`<p class="quiet">The same bytes come out when</p><ul class="quiet">${others}</ul>`
  return [
    diagnosis.mistakes.map(drawMistake),
    others.length === 0 ? null : alternatives,
    ofOwnData,
    diagnosis.explained ? null : drawUnexplained(diagnosis, input),
  ]
}

type NextStep = ReturnType<typeof nextSteps>[number]

const stepTexts: { [step in NextStep]: string } = {
  'check-empty-body': 'The body given here is empty: paste the one that was sent.',
  'give-own-data': 'Paste the data that your code signs: their first wrong byte is shown.',
  'mend-own-data': 'Correct the data that your code signs at the byte named above, then sign again.',
  'compare-key':
    'Your data are right, so look at the key: compare its length and its first bytes where your code computes the signature.',
  'give-url': 'Give the whole URL that was called: mistakes with host, base path and query are tried as well.',
}

/** The field that a step leads to, by its id in the page. */
const stepFields: { [step in NextStep]: string } = {
  'check-empty-body': 'body',
  'give-own-data': 'ownData',
  'mend-own-data': 'ownData',
  'compare-key': 'key',
  'give-url': 'url',
}

function drawUnexplained(diagnosis: Checked['diagnosis'], input: Checked['input']): Part {
  const steps = nextSteps(input).map((step) => {
    const button = html`<button type="button" data-field="${stepFields[step]}">Go to the field</button>`
    return html`<li>${stepTexts[step]} ${button}</li>`
  })
  const ruledOut = diagnosis.ruledOut.map((id) => html`<li>${mistakeById(id)?.title ?? id}</li>`)
  return html`<p class="title">${unexplainedSentence(input, diagnosis)}</p><ol class="steps">${steps}</ol>
<details><summary>Ruled out, alone and together with others: ${ruledOut.length} mistakes</summary><ul>${ruledOut}</ul></details>`
}

function drawMistake({ id, title, requirement, fix }: Diagnosis['mistakes'][number]): Part {
  return html`<article class="mistake"><p class="title">${title}</p><p>Fix: ${fix}</p>
<p class="quiet">The interface: ${corpus.sentences[requirement] ?? ''} (${requirement})</p>
<p class="quiet">Mistake <code>${id}</code></p></article>`
}

/** Each stage ticked or crossed. */
function drawStages({ verification }: Checked): Part {
  return html`<h2>Stages</h2><ul class="stages">${verification.stages.map(drawStage)}</ul>`
}

function drawStage({ name, ok, expected = '', received = '' }: ReturnType<typeof verify>['stages'][number]): Part {
  const mark = html`<span class="mark" aria-hidden="true">${ok ? '✓' : '✗'}</span>`
  if (ok) return html`<li class="good">${mark}<span> ${name} right</span></li>`
  return html`<li class="bad">${mark}<span> ${name} wrong</span><div>expected <code>${expected}</code></div>
<div>received <code>${received === '' ? '(empty)' : received}</code></div></li>`
}

/** The data to sign, coloured by origin, with a table for readers who do not see colours. */
function drawData({ pieces }: Checked): Part {
  if (pieces === null) return null
  const size = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const text = pieces.map(
    ({ origin, bytes }) => html`<span class="piece ${origin}" title="${nameOf(origin)}">${visible(bytes)}</span>`,
  )
  const origins = [...new Set(pieces.map(({ origin }) => origin))]
  const legend = origins.map((origin) => html`<li><span class="piece ${origin}">${nameOf(origin)}</span></li>`)
  const rows = pieces.map(({ origin, bytes }) => {
    const hex = toHex(bytes.subarray(0, 256)) + (bytes.length > 256 ? '…' : '')
    return html`<tr><th scope="row">${nameOf(origin)}</th><td>${bytes.length}</td><td class="value">${hex}</td></tr>`
  })
  // A scrolling or long region must be reachable by keyboard.
  return html`<h2>Data to sign, ${size} bytes</h2><ul class="legend">${legend}</ul>
<pre class="bytes" tabindex="0" aria-label="Data to sign as text">${text}</pre>
<details><summary>Byte by byte</summary><table><thead><tr><th>Part</th><th>Bytes</th><th>Hex</th></tr></thead>
<tbody>${rows}</tbody></table></details>`
}

/** MAC, the 20 bytes that are sent, signature and header. */
function drawSignature({ right, input }: Checked): Part {
  if (right === null) return null
  const { mac, signature, header } = right
  const hex = mac === undefined ? '' : toHex(mac)
  return [
    mac === undefined
      ? null
      : html`<h2>MAC: the first 20 of 32 bytes are sent</h2><p class="value"><mark>${hex.slice(0, 40)}</mark>${hex.slice(40)}</p>`,
    html`<h2>Right signature${input.key.kind === 'secret' ? '' : ' (ED25519)'}</h2><p class="value">${signature}</p>
<h2>Right header</h2><p class="value">${header}</p>`,
  ]
}

const controls: { [mark: string]: string } = { '\r': 'CR', '\n': 'LF', '\t': 'TAB', '\ufeff': 'BOM' }

/** Shows line ends, tabs and byte order marks by name, because few fonts have signs for them. */
function visible(bytes: Uint8Array): Part {
  const text = fromUtf8(bytes) ?? fromLatin1(bytes)
  return text.split(/([\r\n\t\ufeff])/).map((part) => {
    const name = controls[part]
    return name === undefined ? part : html`<span class="control">${name}</span>${part === '\n' ? part : ''}`
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
let timer: ReturnType<typeof setTimeout> | undefined
form.addEventListener('input', (event) => {
  if (event.target === field('vector')) return
  clearTimeout(timer)
  timer = setTimeout(update, pauseMs)
})
form.addEventListener('submit', (event) => event.preventDefault())
// The fields are empty only after the event.
form.addEventListener('reset', () => setTimeout(update))
update()

/** An element that the page must have. @throws Error without it */
function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`Missing element "${id}"`)
  return found
}
