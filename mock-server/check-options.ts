import { defaultBounds } from './bounds.ts'
import { demandKnownNames, demandWord } from './known-names.ts'
import { readProfile } from './profile-file.ts'
import { rules } from './rules.ts'

const optionNames = [
  'clock',
  'now',
  'seed',
  'rootKey',
  'profile',
  'rules',
  'around',
  'bounds',
  'journal',
  'recording',
  'explain',
  'cors',
  'port',
  'host',
  'control',
]

/** Names of the options that are objects, each with the names of its members. */
const nested: { readonly [option: string]: readonly string[] } = {
  rootKey: ['id', 'secret', 'publicKey'],
  rules: Object.keys(rules),
  bounds: Object.keys(defaultBounds),
  journal: ['size', 'bytes'],
  recording: ['bytes'],
}

/** Checks options that may come from plain JavaScript. Throws a TypeError that names the mistake and what would be right. */
export function checkOptions(options: { readonly [name: string]: unknown }): void {
  demandKnownNames('option', options, optionNames)
  const { clock, profile } = options
  if (clock !== undefined && (typeof clock !== 'object' || clock === null))
    demandWord('the option "clock"', clock, ['real', 'virtual'])
  if (profile !== undefined) readProfile(profile)
  for (const [option, names] of Object.entries(nested)) {
    const value = options[option]
    if (value === undefined) continue
    if (typeof value !== 'object' || value === null) throw new TypeError(`Give the option "${option}" an object`)
    demandKnownNames(`member of "${option}"`, value, names)
  }
}
