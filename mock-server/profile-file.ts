import { readFileSync } from 'node:fs'
import { demandKnownNames } from './known-names.ts'
import { defaultProfile, type Profile, profileChoices } from './profile.ts'

const freeText: ReadonlySet<string> = new Set(['basePath', 'scheme', 'tokenPrefix'])

/** Checks a profile from outside, such as the JSON of a file. Throws a TypeError that names the switch and its values. */
export function readProfile(value: unknown): Partial<Profile> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('Write a profile as one JSON object of switches')
  }
  demandKnownNames('switch', value, Object.keys(defaultProfile), 'spec/open-questions.yaml names the switches')
  for (const [name, setting] of Object.entries(value)) {
    checkSetting(name as keyof Profile, setting)
  }
  return value
}

function checkSetting(name: keyof Profile, setting: unknown): void {
  const choices: readonly unknown[] = profileChoices[name]
  const wanted = typeof choices[0]
  if (wanted === 'number') {
    const lowest = name === 'clockOffsetMs' ? Number.MIN_SAFE_INTEGER : 0
    if (Number.isSafeInteger(setting) && (setting as number) >= lowest) return
    throw new TypeError(
      `Give the switch "${name}" a whole number${lowest === 0 ? ' of 0 or more' : ''}, not ${JSON.stringify(setting)}`,
    )
  }
  if (freeText.has(name)) {
    const problem = textProblem(name, setting)
    if (problem === undefined) return
    throw new TypeError(`Give the switch "${name}" ${problem}, not ${JSON.stringify(setting)}`)
  }
  if (choices.includes(setting)) return
  const words = choices.map((choice) => JSON.stringify(choice)).join(', ')
  throw new TypeError(`Give the switch "${name}" one of ${words}, not ${JSON.stringify(setting)}`)
}

function textProblem(name: string, setting: unknown): string | undefined {
  if (typeof setting !== 'string') return 'a text'
  if (name === 'basePath')
    return /^(\/[\w.~-]+)*$/.test(setting) ? undefined : 'a path that begins and does not end with "/"'
  const word = /^[\w.~+/-]*$/.test(setting)
  return word && (setting !== '' || name === 'tokenPrefix') ? undefined : 'one word'
}

/** A profile with every switch set at random; the same `chance` (numbers from 0 to 1) gives the same profile. */
export function randomProfile(chance: () => number): Profile {
  const picked = Object.entries(profileChoices).map(([name, choices]) => [
    name,
    choices[Math.floor(chance() * choices.length)] ?? choices[0],
  ])
  return Object.fromEntries(picked) as Profile
}

/**
 * The profile that words of a command line name, later words over earlier ones: `random`, `switch=value`, or the path of a JSON file.
 * Throws a TypeError that quotes the words of the user.
 */
export function profileFromWords(words: readonly string[], chance: () => number): Partial<Profile> {
  let profile: Partial<Profile> = {}
  for (const word of words) {
    const set = /^([A-Za-z]+)=(.*)$/.exec(word)
    if (word === 'random') profile = { ...profile, ...randomProfile(chance) }
    else if (set) profile = { ...profile, ...readProfile(settingOf(set[1] ?? '', set[2] ?? '')) }
    else profile = { ...profile, ...readFile(word) }
  }
  return profile
}

function settingOf(name: string, text: string): object {
  const isText = typeof profileChoices[name as keyof Profile]?.[0] === 'string'
  return { [name]: !isText && /^(true|false|-?[0-9]+)$/.test(text) ? JSON.parse(text) : text }
}

function readFile(path: string): Partial<Profile> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new TypeError(`Cannot read the profile "${path}": give "random", "switch=value" or the path of a JSON file`)
  }
  try {
    return readProfile(JSON.parse(text))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error)
    throw new TypeError(`Cannot use the profile "${path}": ${why}`)
  }
}
