import type { RunListener } from '../engine/case/events.ts'
import type { Verdict } from '../engine/judge/verdict.ts'

export interface Progress {
  listener: RunListener
  end(): void
}

/** For a run that tells nothing while it goes on. */
export const noProgress: Progress = { listener: () => {}, end: () => {} }

/** Below this the line would only flicker. */
const redrawMs = 80
/** Without a terminal a line comes at every tenth of the cases. */
const lines = 10

/** Tells how far a run is: one line that redraws itself on a terminal, a few plain ones elsewhere. */
export function startProgress(total: number, stream: NodeJS.WriteStream, now: () => number = Date.now): Progress {
  const counts = new Map<Verdict, number>()
  const terminal = stream.isTTY === true
  let done = 0
  let drawnMs = 0
  const sentence = (): string => {
    const parts = [...counts]
      .filter(([verdict]) => verdict !== 'passed')
      .map(([verdict, count]) => `${count} ${verdict}`)
    return `${done} of ${total} cases${parts.length === 0 ? '' : `, ${parts.join(', ')}`}`
  }
  return {
    listener(event) {
      if (event.kind !== 'case-ended') return
      const { verdict } = event.outcome
      done += 1
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      if (terminal) {
        if (now() - drawnMs < redrawMs) return
        drawnMs = now()
        stream.write(`\r\u001b[K${sentence()}`)
      } else if (Math.floor((done * lines) / total) > Math.floor(((done - 1) * lines) / total)) {
        stream.write(`${sentence()}\n`)
      }
    },
    end() {
      if (terminal) stream.write('\r\u001b[K')
    },
  }
}
