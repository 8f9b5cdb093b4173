/** The place that the page's address names after its `#`, so that everything on the page can be linked to. Pure. */

export type Place =
  | { kind: 'nothing' }
  /** The cases of a requirement on a server. */
  | { kind: 'cell'; server: string; requirement: string }
  /** A server, and the changes between two of its reports; null: the last two. */
  | { kind: 'server'; server: string; from: string | null; to: string | null }

export function readPlace(hash: string): Place {
  const values = new URLSearchParams(hash.replace(/^#/, ''))
  const server = values.get('server')
  const requirement = values.get('requirement')
  if (server === null) return { kind: 'nothing' }
  if (requirement !== null) return { kind: 'cell', server, requirement }
  return { kind: 'server', server, from: values.get('from'), to: values.get('to') }
}

export function writePlace(place: Place): string {
  if (place.kind === 'nothing') return ''
  const values = new URLSearchParams({ server: place.server })
  if (place.kind === 'cell') values.set('requirement', place.requirement)
  if (place.kind === 'server' && place.from !== null) values.set('from', place.from)
  if (place.kind === 'server' && place.to !== null) values.set('to', place.to)
  return `#${values}`
}
