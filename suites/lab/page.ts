/// <reference lib="dom" />
/** The lab page: reads the fields, computes, draws. Everything else is in modules that know no browser. */

import { defaultScheme } from '../engine/document.ts'
import type { FlatVector } from '../engine/language/vectors.ts'
import { byId, element } from '../page/elements.ts'
import { type LabFields, type LabResult, labResult } from './compute.ts'
import { drawData, drawDiagnosis, drawSignature, drawStages, type Sentences } from './draw.ts'

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
