/** Mistakes that nobody makes by accident. Scenarios make them to see whether a server accepts them; the lab does not look for them. */
import { joinPieces } from './data-to-sign.ts'
import { ed25519SignWithNeutralR } from './ed25519.ts'
import type { KnownMistake } from './mistake.ts'

export const deliberateMistakes: readonly KnownMistake[] = [
  scheme('other-scheme', 'another word', () => 'other-hmac-sha256'),
  scheme('basic-scheme', 'the word Basic', () => 'Basic'),
  scheme('longer-scheme', 'a longer word', (word) => `${word}0`),
  scheme('upper-case-scheme', 'the word in upper case', (word) => word.toUpperCase()),
  {
    id: 'signature/small-order-r',
    title: 'R of the ED25519 signature is a point of small order',
    requirement: 'signatures/ecc',
    fix: 'Sign as RFC 8032 says, with an R of its own for every message',
    when: 'R is a point of small order',
    stage: 'algorithm',
    found: false,
    apply: (draft) =>
      draft.algorithm.kind === 'ed25519'
        ? { ...draft, cut: () => ed25519SignWithNeutralR(draft.key, joinPieces(draft.pieces)) }
        : null,
  },
]

function scheme(word: string, name: string, change: (right: string) => string): KnownMistake {
  return {
    id: `fields/${word}`,
    title: `The header begins with ${name} instead of the scheme word`,
    requirement: 'signatures/scheme',
    fix: 'Begin the header with the scheme word of the target and one space',
    when: `the header begins with ${name}`,
    stage: 'fields',
    found: false,
    apply: (draft) => {
      const changed = change(draft.scheme)
      return changed === draft.scheme ? null : { ...draft, scheme: changed }
    },
  }
}
