/** The parts that follow the clock of the server by the `Date` of its answers, which has a resolution of one second. */

/** A server may make its Date text a little before it answers. */
const staleDateMs = 500
const dateResolutionMs = 1000
/** A smaller error does not matter: signatures have a time window, and a refused token is refreshed. */
const skewMs = 2000

export const clockParts = {
  /** The time of the server, in ms. */
  now: (client) => Date.now() + client.clock.offsetMs,

  /** Narrows the offset down with every answer; returns true when the clock turned out to be off. */
  learnClock(client, answer, sentAtMs) {
    const dateMs = Date.parse(answer.headers?.date ?? '')
    if (Number.isNaN(dateMs)) return false
    const { clock } = client
    const lowest = dateMs - Date.now()
    const highest = dateMs + dateResolutionMs + staleDateMs - sentAtMs
    const agrees = lowest <= clock.highest && highest >= clock.lowest
    clock.lowest = agrees ? Math.max(lowest, clock.lowest) : lowest
    clock.highest = agrees ? Math.min(highest, clock.highest) : highest
    const before = clock.offsetMs
    const mayBeRight = clock.lowest <= 0 && clock.highest >= 0
    clock.offsetMs = mayBeRight ? 0 : Math.round((clock.lowest + clock.highest) / 2)
    return Math.abs(clock.offsetMs - before) > skewMs
  },
}
