/** Servers in memory whose clock nobody moves, as at a URL; but waiting takes no time. */
import { bareSettings, type Instance, type Target } from '../engine/target.ts'

/** How long a call takes. */
const callMs = 1

interface MovingClock {
  advance(ms: number): void
}

export const unmovedTarget = (target: Target): Target => ({
  ...target,
  open: async () => {
    const instance = await target.open()
    const { clock, settings } = instance
    return {
      ...instance,
      clock: { ...clock, controlled: false },
      settings: { ...settings, maxWaitMs: bareSettings.maxWaitMs },
    }
  },
})

export const unmovedInstance = (instance: Instance, clock: MovingClock): Instance => ({
  ...instance,
  clock: { ...instance.clock, controlled: false },
  send: async (request) => {
    const answer = await instance.send(request)
    clock.advance(callMs)
    return answer
  },
})
