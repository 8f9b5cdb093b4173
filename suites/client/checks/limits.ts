/** Checks of how a client uses the limits: ten keys, sixteen sessions. */
import { type Check, type Finding, finding } from '../check.ts'
import { textsOf } from '../story/rpc.ts'
import type { Request, Story } from '../story/story.ts'

const keysAndSessionsReused: Check = {
  id: 'limits/keys-and-sessions-reused',
  level: 'practice',
  title: 'A second start creates no new key and no new session name',
  sentence:
    'At most 10 API keys can be created; one user can have up to 16 sessions; when the limit is reached the oldest session is removed',
  source: 'interface parts 2 and 8',
  judge({ story }) {
    const [first, ...later] = (story.starts ?? []).map((_, start) =>
      story.requests.filter((one) => one.start === start),
    )
    if (first === undefined || later.length === 0) return { exercised: false, findings: [] }
    const works = (requests: readonly Request[]): boolean => requests.some(({ outcome }) => outcome === 'accepted')
    const findings = later.flatMap((requests) => [
      ...newSessions(story, first, requests),
      ...newKeys(story, first, requests),
    ])
    return { exercised: works(first) && later.every(works), findings }
  },
}

function newSessions(story: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  const known = new Set([...first.flatMap(sessionsOf), ...(story.setting.scope ?? [])])
  const request = later.find((one) => sessionsOf(one).some((name) => !known.has(name)))
  if (request === undefined) return []
  const name = sessionsOf(request).find((one) => !known.has(one))
  const message = `The second start requests "${name}", which the first did not. Use one name, so that 16 starts do not end older sessions`
  return [finding(message, request)]
}

const sessionsOf = ({ kind, params }: Request): string[] =>
  kind === 'grant' ? (textsOf(params?.scope) ?? []).filter((entry) => entry.startsWith('session:')) : []

function newKeys({ setting }: Story, first: readonly Request[], later: readonly Request[]): Finding[] {
  if (setting.method === 'manager/createApiKey') return []
  const creations = (requests: readonly Request[]): Request[] =>
    requests.filter(({ method, outcome }) => method === 'manager/createApiKey' && outcome === 'accepted')
  const [before] = creations(first)
  const [again] = creations(later)
  if (before === undefined || again === undefined) return []
  return [finding('Every start creates an API key. Keep the first one, since there are ten places', before, again)]
}

export const limitChecks: readonly Check[] = [keysAndSessionsReused]
