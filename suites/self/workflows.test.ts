import { describe, expect, test } from 'vitest'
import { readYaml } from '../engine/language/yaml-source.ts'
import { shipped } from './shipped.ts'

const yaml = (file: string) => readYaml(shipped(file), file).value

test('every package that the lock file names has its integrity', () => {
  const { packages } = JSON.parse(shipped('package-lock.json')) as {
    packages: { [place: string]: { integrity?: string; link?: true; resolved?: string } }
  }
  const fetched = Object.entries(packages).filter(([place, { link }]) => place !== '' && link !== true)
  expect(fetched.length).toBeGreaterThan(100)
  const without = fetched.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(without.map(([place]) => place)).toEqual([])
})

describe('every workflow', () => {
  const files = [
    '.github/actions/run/action.yml',
    '.github/workflows/check.yml',
    '.ci/recipes/github.yml',
    '.ci/recipes/github-shards.yml',
  ]
  test.each(files)('%s pins the actions of others to a commit', (file) => {
    const uses = [...shipped(file).matchAll(/uses: (\S+)(.*)/g)].filter(([, action]) => !action?.startsWith('./'))
    for (const [line] of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test.each(files.slice(1))('%s begins without permissions', (file) => {
    expect((yaml(file) as { permissions: object }).permissions).toEqual({})
  })

  test('ours runs the one gate on every supported Node', () => {
    const { jobs } = yaml('.github/workflows/check.yml') as {
      jobs: { check: { strategy: { matrix: { node: string[] } }; steps: { run?: string }[] } }
    }
    expect(jobs.check.strategy.matrix.node).toEqual(['20.19', '22', '24'])
    expect(jobs.check.steps.map(({ run }) => run)).toContain('npm run check')
  })
})
