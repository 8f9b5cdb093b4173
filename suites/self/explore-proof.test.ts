import { describe, expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { loadIndependentMutants, loadIndependentVariants } from '../targets/bundled.ts'
import { prove } from './explore-proof.ts'
import { isCatch } from './proof-model.ts'

const corpus = await openCorpus()
const options = { corpus, seed: 1, calls: 1500, walks: 3 }

async function mutantNamed(name: string) {
  const mutant = (await loadIndependentMutants()).find(({ id }) => id === name)
  if (mutant === undefined) throw new Error(`There is no independent mutant "${name}"`)
  const { id, breaks, create } = mutant
  return { id, breaks, settings: {}, create }
}

/** The short form of `npm run explore-proof`: servers whose authors knew neither the cases nor the model. */
describe('the model alone', () => {
  test.each([
    ['expiry-as-text-with-expires-in', 'works'],
    ['connection-stays-authorized', 'works'],
    ['hmac-accepted-after-first-ecc-call', 'works'],
    ['scheme-word-compared-by-prefix', 'works'],
    ['second-answer-on-connection-repeats-id', 'works'],
  ])('finds %s; its scenario: %s', async (name, outcome) => {
    const mutant = await mutantNamed(name)
    const { found } = await prove(mutant, 'explore', { ...options, stopAtFirst: true })
    expect(found.find((one) => isCatch(mutant.breaks, one))?.fixture).toBe(outcome)
  })

  test.each([
    ['names-of-refused-creations-stay-taken', {}],
    ['key-names-of-at-most-twelve-characters', {}],
    ['session-joined-by-the-same-scope-and-replaced-by-another', { seed: 2, calls: 4000 }],
    ['keys-with-the-same-scope-are-one-user', { seed: 2, calls: 4000, walks: 40 }],
    ['guessed-key-ids-ban-their-address', { seed: 2, calls: 4000, walks: 20 }],
  ])('does not accuse %s', async (name, more) => {
    const variant = (await loadIndependentVariants()).find(({ id }) => id === name)
    if (variant === undefined) throw new Error(`There is no independent variant "${name}"`)
    const { id, profile, settings = {}, create } = variant
    const server = () => ({ ...(profile === undefined ? {} : { profile }), ...create?.() })
    const line = await prove({ id, breaks: '', settings, create: server }, 'explore', {
      ...options,
      ...more,
      stopAtFirst: false,
    })
    expect(line.found).toEqual([])
  })
})

test('the model finds second-refresh-drops-apikey with the few keys that the cases leave room for', async () => {
  const mutant = await mutantNamed('second-refresh-drops-apikey')
  const { found } = await prove(mutant, 'run', { ...options, calls: 400, walks: 1, stopAtFirst: true })
  expect(found.some((one) => one.by === 'model' && isCatch(mutant.breaks, one))).toBe(true)
})
