import type { Client } from '../../engine/case/client.ts'
import { isSendable } from '../../engine/case/credential-of.ts'
import { createKeyOf } from '../../engine/case/test-keys.ts'
import { accessTokenOf, call, grant } from './calls.ts'

/** Finds out which word precedes a token. */
export async function learnTokens(client: Client): Promise<void> {
  const { facts, instance } = client
  if (instance.root.kind !== 'secret') return
  const { answer } = await grant(client, ['solution'])
  if (answer.outcome !== 'accepted') return
  const result = answer.result as { [name: string]: unknown } | null
  const { accessToken, tokenType } = result ?? {}
  if (typeof accessToken === 'string' && isSendable(accessToken)) {
    const configured = instance.settings.tokenPrefix
    const words = ['Bearer', ...(typeof tokenType === 'string' ? [tokenType] : []), 'Token', '']
    for (const prefix of configured === undefined ? new Set(words) : [configured]) {
      facts.tokenPrefix = prefix
      const { answer: used } = await call(client, { token: accessToken })
      if (used.outcome === 'accepted') return learnReplacement(client, accessToken)
      facts.tokenPrefix = configured ?? 'Bearer'
    }
    // Without a given word, tokens may work with another one; a given word must work.
    if (client.run.target.lasting) {
      facts.tokenWord = configured === undefined ? { kind: 'not-found' } : { kind: 'not-accepted', prefix: configured }
    }
  }
}

/** Finds out whether a grant without a session ends the previous one: some servers treat all such grants as one session. */
async function learnReplacement(client: Client, earlier: string): Promise<void> {
  const later = accessTokenOf(await grant(client, ['solution']))
  if (later === undefined) return
  const works = async (token: string): Promise<boolean> => (await call(client, { token })).answer.outcome === 'accepted'
  if (!(await works(earlier)) && (await works(later))) client.facts.unnamedReplaced = true
}

/** Finds out on a throwaway instance which spelling of the scope really opens key creation. */
export async function learnSpelling(client: Client): Promise<void> {
  const member = client.run.corpus.testKeys.find(({ key }) => key === 'secret')
  if (member !== undefined) await createKeyOf(client, member, 'token', 'root')
}
