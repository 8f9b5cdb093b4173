import type { Hint } from '../engine/judge/problem.ts'
import { mistakeById, serverHint } from '../engine/signer/mistakes.ts'
import { type TextOfKind, textOfKind } from './text-of-kind.ts'

const hintTexts: TextOfKind<Hint> = {
  'server-mistake': ({ mistake: id }) => {
    const mistake = mistakeById(id)
    return mistake === undefined
      ? `The server accepts this call when it is signed with the mistake "${id}".`
      : serverHint(mistake)
  },
  'signature-unexplained': ({ scheme, schemeIsKnown }) => {
    const perhaps = schemeIsKnown
      ? ''
      : ` Is "${scheme}" the scheme word of this deployment (--scheme)? Or does the server's clock differ from its Date header? A run with --allow sessions measures that clock.`
    return `No known mistake explains it.${perhaps} "svc-conformance sign" shows every stage of a right signature.`
  },
  'no-token-accepted': ({ prefix }) =>
    `No token was accepted; tokens were sent ${triedPrefixes(prefix)}. Set --token-prefix (or tokenPrefix in the target file) to the prefix of this deployment.`,
  'client-address': ({ address }) =>
    `Does the target see our calls come from ${address}, as clientAddress in the target file says?`,
  'perhaps-not-fresh': () =>
    'No API key was created in this run before this call. Is this instance fresh, as --disposable says? At most ten API keys can be created.',
}

/** The sentence of a hint, for the `Hint` line of a failure. */
export function hintText(hint: Hint): string {
  return textOfKind(hintTexts, hint)
}

function triedPrefixes(prefix: string | undefined): string {
  if (prefix === undefined)
    return 'with the prefixes "Bearer" and "Token", with the reported tokenType and without a prefix'
  return prefix === '' ? 'without a prefix' : `with the prefix "${prefix}"`
}
