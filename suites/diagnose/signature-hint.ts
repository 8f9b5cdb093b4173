import { type Called, makeCall, sendRaw } from '../engine/case/call.ts'
import { type Client, secretRoot } from '../engine/case/client.ts'
import { tokenOf } from '../engine/case/test-keys.ts'
import { SuiteError } from '../engine/errors.ts'
import type { Auth, Mistake } from '../engine/fixture/model.ts'
import { mistakesInBody, type ServerMistake, serverMistakes } from '../engine/signer/server-mistakes.ts'
import type { WireRequest } from '../engine/target.ts'

type Kind = 'hmac' | 'ecc'

interface Signer {
  kind: Kind
  member: string
}

/**
 * After a right signature was refused: sends it again with each classic mistake, a fresh nonce each, and says which one the
 * server takes. Only ever a hint, never a verdict; done once per run and kind of key, or once per what the body may have to do with
 * it where the server takes other signatures of this key.
 *
 * @param refused the request that carried the signature, where nothing speaks against sending it again
 */
export async function diagnoseTarget(client: Client, auth: Auth, refused?: WireRequest): Promise<string | undefined> {
  const signer = signedBy(auth)
  if (signer === undefined) return undefined
  const { diagnoses } = client.run
  const known = diagnoses.get(signer.kind)
  if (known !== undefined) return known
  const control = await plainCall(client, signer)
  if (control.answer.outcome === 'accepted') {
    if (refused === undefined) return undefined
    const suspects = mistakesInBody(refused.body, control.request.body)
    const sendAgain = (but: Mistake): Promise<Called> => resend(client, refused, authOf(signer, but))
    return once(diagnoses, [signer.kind, 'in body', ...suspects.map(({ id }) => id)].join(' '), () =>
      firstTaken(client, suspects, sendAgain),
    )
  }
  return once(diagnoses, signer.kind, () => tryClassics(client, signer))
}

/** After a token was refused: is any token taken behind the word that was found out or given? Once per run. */
export function diagnoseTokens(client: Client): Promise<string | undefined> {
  return once(client.run.diagnoses, 'token', async () => {
    const token = await tokenOf(client, secretRoot(client.instance.root), ['solution'])
    if (token === undefined) return undefined
    const { answer } = await makeCall(client, { method: 'solution/listSolutions', params: {}, auth: { token } })
    return answer.outcome === 'refused' ? noTokenTaken(client.instance.settings.tokenPrefix) : undefined
  })
}

function noTokenTaken(given: string | undefined): string {
  const tried =
    given === undefined
      ? 'Tokens were tried behind Bearer, Token, the reported tokenType and no word at all'
      : given === ''
        ? 'Tokens are sent without a word before them'
        : `Tokens are sent behind "${given}"`
  return `${tried}, and none was accepted. --token-prefix (or tokenPrefix in the target file) names the word of this deployment.`
}

function once(diagnoses: Client['run']['diagnoses'], name: string, find: () => Promise<string | undefined>) {
  const found = diagnoses.get(name) ?? find()
  diagnoses.set(name, found)
  return found
}

function signedBy(auth: Auth): Signer | undefined {
  if (typeof auth !== 'object' || 'but' in auth) return undefined
  // A key that a case made itself is known to that case only.
  if ('hmac' in auth) return auth.hmac.startsWith('$') ? undefined : { kind: 'hmac', member: auth.hmac }
  return 'ecc' in auth && !auth.ecc.startsWith('$') ? { kind: 'ecc', member: auth.ecc } : undefined
}

function authOf({ kind, member }: Signer, but?: Mistake): Auth {
  return { [kind]: member, ...(but === undefined ? {} : { but }) } as unknown as Auth
}

function plainCall(client: Client, signer: Signer, but?: Mistake): Promise<Called> {
  return makeCall(client, { method: 'solution/listSolutions', params: {}, auth: authOf(signer, but) })
}

/** The same bytes again, with another Authorization header. */
function resend(client: Client, { method, path, headers, body, from }: WireRequest, auth: Auth): Promise<Called> {
  const always = Object.keys(client.instance.settings.headers)
  const own = headers.filter(([name]) => name !== 'authorization' && !always.includes(name))
  const spec = { method, path, headers: Object.fromEntries(own), body, auth }
  return sendRaw(client, from === undefined ? spec : { ...spec, from })
}

async function tryClassics(client: Client, signer: Signer): Promise<string | undefined> {
  const hint = await firstTaken(client, serverMistakes(signer.kind), (but) => plainCall(client, signer, but))
  if (hint !== undefined || client.run.stopping.reason !== null || client.facts.junkTaken.length > 0) return hint
  return unexplained(client.instance.settings.scheme, await takesOtherKind(client, signer.kind))
}

/** The hint of the first mistake with which the call is accepted. */
async function firstTaken(
  client: Client,
  suspects: readonly ServerMistake[],
  send: (but: Mistake) => Promise<Called>,
): Promise<string | undefined> {
  for (const { mistake, hint } of suspects) {
    const called = await send(mistake).catch(unlessNothingChanges)
    if (called?.answer.outcome === 'accepted') return hint
    if (client.run.stopping.reason !== null) return undefined
  }
  return undefined
}

/** What is a mistake for other servers is none for one that signs `/` or `api`. */
function unlessNothingChanges(error: unknown): undefined {
  if (!(error instanceof SuiteError) || error.code !== 'fixture') throw error
}

/** Both kinds of signatures stand behind one scheme word. */
async function takesOtherKind(client: Client, kind: Kind): Promise<boolean> {
  const other = [...client.testKeys].find(([, { seed, secret }]) =>
    kind === 'hmac' ? seed !== undefined : seed === undefined && secret !== undefined,
  )
  if (other === undefined) return false
  const { answer } = await plainCall(client, { kind: kind === 'hmac' ? 'ecc' : 'hmac', member: other[0] })
  return answer.outcome === 'accepted'
}

function unexplained(scheme: string, schemeIsKnown: boolean): string {
  const perhaps = schemeIsKnown ? '' : ` Is "${scheme}" the scheme word of this deployment (--scheme)?`
  return `No classic mistake explains it.${perhaps} "svc-conformance sign" shows every stage of a right signature.`
}
