import { type Conversation, standInOf } from '../engine/conversation/conversation.ts'
import { tokenOf } from '../engine/conversation/create-test-keys.ts'
import { makeCall, sendRaw } from '../engine/conversation/send.ts'
import { SuiteError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import type { Called } from '../engine/judge/judge-case.ts'
import type { Hint } from '../engine/judge/problem.ts'
import type { Auth } from '../engine/language/fixture-types.ts'
import { type KnownMistake, mistakesInBody, serverMistakes } from '../engine/signer/mistakes.ts'
import type { Mistake } from '../engine/signer/sign.ts'
import type { WireRequest } from '../engine/target.ts'

type Kind = 'hmac' | 'ecc'

interface Signer {
  kind: Kind
  member: string
}

/** Looks for the reason of a refusal by further calls; passed to a run, because the engine imports nothing above it. */
export const signatureHint: NonNullable<Conversation['run']['diagnose']> = {
  signature: diagnoseSignature,
  token: diagnoseToken,
}

/**
 * After a right signature was refused: signs the call again with each known mistake and a new nonce, and returns the one that the server
 * accepts. Only a hint, never a verdict. Done once for each run and kind of key; if the server accepts other signatures of this key, once
 * for each mistake that the body may explain.
 *
 * @param refused the request that carried the signature, if it may be sent again
 */
async function diagnoseSignature(talk: Conversation, auth: Auth, refused?: WireRequest): Promise<Hint | undefined> {
  const signer = signedBy(auth)
  if (signer === undefined) return undefined
  const { diagnoses } = talk.run
  const known = diagnoses.get(signer.kind)
  if (known !== undefined) return known
  const control = await plainCall(talk, signer)
  if (control.answer.outcome === 'accepted') {
    if (refused === undefined) return undefined
    const suspects = mistakesInBody(refused.body, control.request.body)
    const sendAgain = (but: Mistake): Promise<Called> => resend(talk, refused, authOf(signer, but))
    return once(diagnoses, [signer.kind, 'in body', ...suspects.map(({ id }) => id)].join(' '), () =>
      firstAccepted(talk, suspects, sendAgain),
    )
  }
  return once(diagnoses, signer.kind, () => tryServerMistakes(talk, signer))
}

/** After a token was refused: finds out whether any token is accepted with the prefix in use. Once in each run. */
function diagnoseToken(talk: Conversation): Promise<Hint | undefined> {
  return once(talk.run.diagnoses, 'token', async () => {
    const token = await tokenOf(talk, standInOf(talk.run.corpus.testKeys, talk.instance.root), ['solution'])
    if (token === undefined) return undefined
    const { answer } = await makeCall(talk, { method: 'solution/listSolutions', params: {}, auth: { token } })
    const prefix = defined({ prefix: talk.instance.settings.tokenPrefix })
    return answer.outcome === 'refused' ? { kind: 'no-token-accepted', ...prefix } : undefined
  })
}

function once(diagnoses: Conversation['run']['diagnoses'], name: string, find: () => Promise<Hint | undefined>) {
  const found = diagnoses.get(name) ?? find()
  diagnoses.set(name, found)
  return found
}

function signedBy(auth: Auth): Signer | undefined {
  if (typeof auth !== 'object' || 'but' in auth) return undefined
  // Only the case knows a key that it created itself.
  if ('hmac' in auth) return auth.hmac.startsWith('$') ? undefined : { kind: 'hmac', member: auth.hmac }
  return 'ecc' in auth && !auth.ecc.startsWith('$') ? { kind: 'ecc', member: auth.ecc } : undefined
}

function authOf({ kind, member }: Signer, but?: Mistake): Auth {
  return { [kind]: member, ...defined({ but }) } as unknown as Auth
}

function plainCall(talk: Conversation, signer: Signer, but?: Mistake): Promise<Called> {
  return makeCall(talk, { method: 'solution/listSolutions', params: {}, auth: authOf(signer, but) })
}

/** The same bytes again, with another Authorization header. */
function resend(talk: Conversation, { method, path, headers, body, from }: WireRequest, auth: Auth): Promise<Called> {
  const always = Object.keys(talk.instance.settings.headers)
  const own = headers.filter(([name]) => name !== 'authorization' && !always.includes(name))
  return sendRaw(talk, { method, path, headers: Object.fromEntries(own), body, auth, ...defined({ from }) })
}

async function tryServerMistakes(talk: Conversation, signer: Signer): Promise<Hint | undefined> {
  const hint =
    (await otherUri(talk, signer)) ??
    (await firstAccepted(talk, serverMistakes(signer.kind), (but) => plainCall(talk, signer, but)))
  if (hint !== undefined || talk.run.stopping.reason !== null || talk.facts.junkTaken.length > 0) return hint
  const { scheme } = talk.instance.settings
  return { kind: 'signature-unexplained', scheme, schemeIsKnown: await acceptsOtherKind(talk, signer.kind) }
}

/** A server behind a gateway may sign the path that it sees: that of the URL, with the whole base path or only its end. */
async function otherUri(talk: Conversation, signer: Signer): Promise<Hint | undefined> {
  const { instance } = talk
  const { signedUri: instead } = instance.settings
  const segments = `${new URL(instance.baseUrl).pathname.replace(/\/$/, '')}/api`.split('/').slice(1)
  const paths = segments.map((_, from) => `/${segments.slice(from).join('/')}`)
  for (const uri of paths.filter((path) => path !== instead)) {
    const { answer } = await plainCall(talk, signer, { signed: { path: uri } })
    if (answer.outcome === 'accepted') return { kind: 'other-signed-uri', uri, instead }
    if (talk.run.stopping.reason !== null) return undefined
  }
  return undefined
}

/** The first mistake with which the call is accepted. */
async function firstAccepted(
  talk: Conversation,
  suspects: readonly KnownMistake[],
  send: (but: Mistake) => Promise<Called>,
): Promise<Hint | undefined> {
  for (const { id } of suspects) {
    const [group = '', word] = id.split('/')
    const called = await send({ [group]: word }).catch(unlessNothingChanges)
    if (called?.answer.outcome === 'accepted') return { kind: 'server-mistake', mistake: id }
    if (talk.run.stopping.reason !== null) return undefined
  }
  return undefined
}

/** A mistake may change nothing here: some servers sign `/` or `api`. */
function unlessNothingChanges(error: unknown): undefined {
  if (!(error instanceof SuiteError) || error.code !== 'fixture') throw error
}

/** Whether the server accepts the other kind of signature: both kinds have the same scheme word. */
async function acceptsOtherKind(talk: Conversation, kind: Kind): Promise<boolean> {
  const other = [...talk.testKeys].find(([, { seed, secret }]) =>
    kind === 'hmac' ? seed !== undefined : seed === undefined && secret !== undefined,
  )
  if (other === undefined) return false
  const { answer } = await plainCall(talk, { kind: kind === 'hmac' ? 'ecc' : 'hmac', member: other[0] })
  return answer.outcome === 'accepted'
}
