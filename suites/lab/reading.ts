/** Reads a header leniently: finds its five fields, and what is wrong with how they are written. */

import { type HeaderFields, splitHeader, version } from '../engine/signer/draft.ts'
import { type KnownMistake, knownMistake } from '../engine/signer/mistakes.ts'

interface Reading {
  /** The recognised fields; null if there are not five. */
  fields: HeaderFields | null
  /** What is wrong with the header itself. */
  mistakes: KnownMistake[]
}

interface Expected {
  scheme: string
  keyId?: string | undefined
}

/** The fields that a header means, and its own mistakes. Never throws. */
export function readHeader(header: string, expected: Expected): Reading {
  const { scheme, fields: raw } = splitHeader(header)
  const mistakes = [...schemeMistakes(scheme, expected.scheme)]
  const { fields, mistakes: ofFields } = meantFields(raw)
  mistakes.push(...ofFields)
  if (fields === null) return { fields, mistakes }
  if (fields.version !== version) mistakes.push(knownMistake('fields/other-version'))
  if (expected.keyId !== undefined && fields.keyId !== expected.keyId)
    mistakes.push(knownMistake('fields/other-key-id'))
  const ofTimestamp = timestampMistake(fields.timestamp)
  if (ofTimestamp !== null) mistakes.push(ofTimestamp)
  if (fields.nonce === '') mistakes.push(knownMistake('fields/empty-nonce'))
  return { fields, mistakes }
}

/** What is wrong with a timestamp, if anything: it is not an integer, or is a plausible time in another unit. */
export function timestampMistake(timestamp: string): KnownMistake | null {
  if (!/^\d+$/.test(timestamp)) return knownMistake('fields/timestamp-no-integer')
  // 2001 to 2286 in seconds have 10 digits, in microseconds 16; a small number such as 0 is merely long ago.
  if (timestamp.length === 10) return knownMistake('fields/timestamp-in-seconds')
  return timestamp.length === 16 ? knownMistake('fields/timestamp-in-microseconds') : null
}

function schemeMistakes(scheme: string, expected: string): KnownMistake[] {
  if (scheme === expected) return []
  if (scheme === '') return [knownMistake('fields/without-scheme')]
  return [knownMistake('fields/other-scheme')]
}

function meantFields(raw: readonly string[]): Reading {
  if (raw.length === 1) {
    const text = raw[0] ?? ''
    for (const [mark, mistake] of [
      [',', knownMistake('fields/with-commas')] as const,
      [':', knownMistake('fields/with-colons')] as const,
    ]) {
      const parts = text.split(mark)
      if (parts.length >= 4) return withMistake(meantFields(parts), mistake)
    }
  }
  const trimmed = raw.map((field) => field.trim())
  if (trimmed.some((field, at) => field !== raw[at]))
    return withMistake(meantFields(trimmed), knownMistake('fields/with-spaces'))
  if (raw.length === 5) return inOrder(raw)
  if (raw.length > 5) return withMistake(meantFields(raw.slice(0, 5)), knownMistake('fields/one-too-many'))
  // Four fields: the version is what is forgotten most often.
  if (raw.length === 4 && raw[1] !== version) {
    return withMistake(meantFields([raw[0] ?? '', version, ...raw.slice(1)]), knownMistake('fields/one-too-few'))
  }
  return { fields: null, mistakes: [knownMistake('fields/one-too-few')] }
}

/** Five fields in any order: a timestamp and the version are recognised by their form. */
function inOrder(raw: readonly string[]): Reading {
  const [keyId = '', second = '', timestamp = '', nonce = '', signature = ''] = raw
  const asSent = { keyId, version: second, timestamp, nonce, signature }
  const time = raw.findIndex((field) => /^\d{10}(\d{3}){0,2}$/.test(field))
  const one = raw.indexOf(version)
  if (time < 0 || one < 0 || (time === 2 && one === 1)) return { fields: asSent, mistakes: [] }
  const [first = '', middle = '', last = ''] = raw.filter((_, at) => at !== time && at !== one)
  const fields = { keyId: first, version, timestamp: raw[time] ?? '', nonce: middle, signature: last }
  return { fields, mistakes: [knownMistake('fields/in-another-order')] }
}

function withMistake(reading: Reading, mistake: KnownMistake): Reading {
  return { fields: reading.fields, mistakes: [mistake, ...reading.mistakes] }
}
