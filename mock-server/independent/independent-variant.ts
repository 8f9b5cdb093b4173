import type { ServerContext, ServerOptions } from '../context.ts'
import type { Handle } from '../http-server.ts'
import type { Profile } from '../profile.ts'
import type { Rules } from '../rules.ts'

/** Wraps the whole handler of one server, as a proxy in front of it would. */
export type Around = (handle: Handle, context: ServerContext) => Handle

/** A conforming server that answers open questions in another way than the reference server. */
export interface IndependentVariant {
  /** In kebab case. */
  id: string
  /** The open questions of spec/open-questions.yaml that it answers in another way. */
  questions: readonly [string, ...string[]]
  /** One sentence. */
  about?: string
  profile?: Partial<Profile>
  /** Called once for each server, so that servers share nothing. */
  create?(): { rules?: Partial<Rules>; around?: Around }
  /** What a user would tell the suite about such a server. */
  settings?: { scheme?: string; tokenPrefix?: string; clientAddress?: string }
}

/** The options that start one server of a variant. Call it again for each further server. */
export function optionsOf(variant: IndependentVariant): Pick<ServerOptions, 'profile' | 'rules' | 'around'> {
  const { profile } = variant
  return { ...(profile ? { profile } : {}), ...variant.create?.() }
}
