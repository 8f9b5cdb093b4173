/** Mistakes that nobody makes by accident. Scenarios make them to see whether a server accepts them; the lab does not look for them. */
import { joinPieces } from './data-to-sign.ts'
import { ed25519SignWithNeutralR } from './ed25519.ts'
import { algorithmMistake, headerMistake, type KnownMistake } from './mistake.ts'

export const deliberateMistakes: readonly KnownMistake[] = [
  scheme('other-scheme', 'another word', () => 'other-hmac-sha256'),
  scheme('basic-scheme', 'the word Basic', () => 'Basic'),
  scheme('longer-scheme', 'a longer word', (word) => `${word}0`),
  scheme('upper-case-scheme', 'the word in upper case', (word) => word.toUpperCase()),
  algorithmMistake(
    {
      id: 'signature/small-order-r',
      requirement: 'signatures/ecc',
      when: 'R of the ED25519 signature is a point of small order',
      fix: 'Sign as RFC 8032 says, with a new R for every message',
      found: false,
    },
    (draft) =>
      draft.algorithm.kind === 'ed25519'
        ? { ...draft, cut: () => ed25519SignWithNeutralR(draft.key, joinPieces(draft.pieces)) }
        : null,
  ),
]

function scheme(word: string, name: string, change: (right: string) => string): KnownMistake {
  const when = `the header begins with ${name} instead of the scheme word`
  return headerMistake({ id: `fields/${word}`, requirement: 'signatures/scheme', when }, (draft) => {
    const changed = change(draft.scheme)
    return changed === draft.scheme ? null : { ...draft, scheme: changed }
  })
}
