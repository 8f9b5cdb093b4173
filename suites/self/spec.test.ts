import { describe, expect, test } from 'vitest'
import { shipped, shippedContext } from './shipped.ts'

const page = shipped('spec/interface.md')
const { requirements, questions } = shippedContext()
const registered = [...requirements.values(), ...questions.values()]

const anchorOf = (id: string): string => id.replace('/', '-')
const anchors = Array.from(page.matchAll(/<a id="([^"]+)"><\/a>\*\*(Must|Implied|Open)[.:]\*\*/g), ([, id, word]) => ({
  id: id ?? '',
  word: (word ?? '').toLowerCase(),
}))

/** Sections by the number of their part: `5.1`. What stands above `## 1.` is no statement. */
function sections(): Map<string, string> {
  const found = new Map<string, string>()
  let part = ''
  for (const line of page.split('\n')) {
    const heading = /^##+ ([1-9](?:\.[1-9])?)\.? /.exec(line)
    if (heading !== null) part = heading[1] ?? ''
    else if (part !== '') found.set(part, `${found.get(part) ?? ''}${line}\n`)
  }
  return found
}

test('no id is both a requirement and an open question, and no two ids have the same anchor', () => {
  const ids = registered.map(({ id }) => anchorOf(id))
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

test('spec/interface.md has an anchor for every requirement and every open question', () => {
  const there = new Set(anchors.map(({ id }) => id))
  expect(registered.map(({ id }) => anchorOf(id)).filter((id) => !there.has(id))).toEqual([])
})

test('every anchor belongs to one entry of a register, once', () => {
  const known = new Set(registered.map(({ id }) => anchorOf(id)))
  const all = Array.from(page.matchAll(/<a id="([^"]*)"/g), ([, id]) => id ?? '')
  expect(all.filter((id) => !known.has(id))).toEqual([])
  expect(all.filter((id, index) => all.indexOf(id) !== index)).toEqual([])
  expect(all).toHaveLength(anchors.length)
})

test('every anchor shows the level of its entry', () => {
  const levels = new Map([
    ...[...requirements.values()].map(({ id, level }) => [anchorOf(id), level] as const),
    ...[...questions.keys()].map((id) => [anchorOf(id), 'open'] as const),
  ])
  expect(anchors.filter(({ id, word }) => levels.get(id) !== word)).toEqual([])
})

test('every entry is in the part that it names', () => {
  const texts = sections()
  const elsewhere = registered.filter(({ id, part }) => !texts.get(part)?.includes(`<a id="${anchorOf(id)}">`))
  expect(elsewhere.map(({ id, part }) => `${id} is not in part ${part}`)).toEqual([])
})

test('all nine parts exist', () => {
  const numbers = new Set([...sections().keys()].map((part) => part.charAt(0)))
  expect([...numbers].sort()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
})

describe('every statement', () => {
  const statements = [...sections()].flatMap(([part, text]) =>
    statementsOf(text).map((statement) => ({ part, statement })),
  )

  test('has an anchor or points at one', () => {
    const without = statements.filter(({ statement }) => !/<a id="|\]\(#/.test(statement))
    expect(without).toEqual([])
    expect(statements.length).toBeGreaterThan(150)
  })

  test('points at anchors that exist', () => {
    const there = new Set(anchors.map(({ id }) => id))
    const links = Array.from(page.matchAll(/\]\(#([^)]*)\)/g), ([, id]) => id ?? '')
    expect(links.filter((id) => !there.has(id))).toEqual([])
  })
})

test('no register names a page that readers do not have', () => {
  expect(registered.filter((entry) => JSON.stringify(entry).includes('field-notes')).map(({ id }) => id)).toEqual([])
})

/** Paragraphs, list items and the cases of tables; a heading, the head of a table and the opening of a list state nothing. */
function statementsOf(text: string): string[] {
  const lines = text.split('\n')
  const statements: string[] = []
  let open = false
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1] ?? ''
    const isTableHead = /^\|[-|]+\|$/.test(next) || /^\|[-|]+\|$/.test(line)
    if (line.trim() === '' || line.startsWith('#') || isTableHead || line.endsWith(':')) open = false
    else if (/^\s*([-|]|\d+\.) ?/.test(line) || !open) {
      statements.push(line)
      open = true
    } else statements.push(`${statements.pop() ?? ''} ${line.trim()}`)
  }
  return statements
}
