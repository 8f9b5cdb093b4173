import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { profileChoices } from '../../mock-server/profile.ts'
import { conformingServers } from './table.ts'

const servers = await conformingServers()
const own = servers.filter(({ origin }) => origin === 'own')

describe('the table of conforming servers', () => {
  test('has an id of its own for each, in kebab case', () => {
    const ids = servers.map(({ id }) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([])
  })

  test('names open questions that are registered, at least one for each server of another author', () => {
    const registered: { id: string }[] = parse(
      readFileSync(new URL('../../spec/open-questions.yaml', import.meta.url), 'utf8'),
    )
    const known = new Set(registered.map(({ id }) => id))
    expect(servers.flatMap(({ questions }) => questions).filter((id) => !known.has(id))).toEqual([])
    expect(servers.filter(({ origin, questions }) => origin !== 'own' && questions.length === 0)).toEqual([])
  })

  test('has every reading of every switch but the first, among our own', () => {
    const readings = Object.entries(profileChoices).flatMap(([name, [, ...others]]) =>
      (others as unknown[]).map((value) => ({ name, value })),
    )
    const chosen = (name: string) => own.map(({ profile }) => (profile as { [name: string]: unknown })[name])
    const isOpen = ({ name, value }: (typeof readings)[number]) =>
      typeof value === 'number'
        ? chosen(name).every((one) => one === undefined)
        : !chosen(name).some((one) => one === value)
    expect(readings.filter(isOpen)).toEqual([])
  })
})
