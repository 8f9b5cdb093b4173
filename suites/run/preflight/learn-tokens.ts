import type { Caller } from '../../engine/conversation/caller.ts'
import { isSendable } from '../../engine/conversation/credential-of.ts'
import { accessTokenOf, createKeyOf } from '../../engine/conversation/test-keys.ts'
import { call, grant } from './calls.ts'

/** Finds out which word precedes a token. */
export async function learnTokens(caller: Caller): Promise<void> {
  const { facts, instance } = caller
  if (instance.root.kind !== 'secret') return
  const { answer } = await grant(caller, ['solution'])
  if (answer.outcome !== 'accepted') return
  const result = answer.result as { [name: string]: unknown } | null
  const { accessToken, tokenType } = result ?? {}
  if (typeof accessToken === 'string' && isSendable(accessToken)) {
    const configured = instance.settings.tokenPrefix
    const words = ['Bearer', ...(typeof tokenType === 'string' ? [tokenType] : []), 'Token', '']
    for (const prefix of configured === undefined ? new Set(words) : [configured]) {
      facts.tokenPrefix = prefix
      const { answer: used } = await call(caller, { token: accessToken })
      if (used.outcome === 'accepted') return learnReplacement(caller, accessToken)
      facts.tokenPrefix = configured ?? 'Bearer'
    }
    // Without a given word, tokens may work with another one; a given word must work.
    if (caller.run.target.lasting) {
      facts.tokenWord = configured === undefined ? { kind: 'not-found' } : { kind: 'not-accepted', prefix: configured }
    }
  }
}

/**
 * Finds out whether a grant without a session ends the previous one, as some servers treat all such grants as one session, or gives the
 * same pair again, as some do for a while.
 */
async function learnReplacement(caller: Caller, earlier: string): Promise<void> {
  const later = accessTokenOf(await grant(caller, ['solution']))
  if (later === undefined) return
  if (later === earlier) {
    caller.facts.unnamedReplaced = true
    return
  }
  const works = async (token: string): Promise<boolean> => (await call(caller, { token })).answer.outcome === 'accepted'
  if (!(await works(earlier)) && (await works(later))) caller.facts.unnamedReplaced = true
}

/** Finds out on a throwaway instance which spelling of the scope really opens key creation. */
export async function learnSpelling(caller: Caller): Promise<void> {
  const member = caller.run.corpus.testKeys.find(({ key }) => key === 'secret')
  if (member !== undefined) await createKeyOf(caller, member, 'token', 'root')
}
