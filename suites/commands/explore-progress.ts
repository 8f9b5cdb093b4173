import { counted } from '../engine/group.ts'
import { printable, printableLines } from '../engine/printable.ts'

/** Shows the progress of an exploration on stderr. */
export interface ExploreProgress {
  /** A call is made: this many with it. */
  called(calls: number): void
  /** Lines for the user. */
  say(text: string): void
  end(): void
}

/** The shortest time between two updates of a terminal, and between two lines elsewhere. In ms. */
const redrawMs = 200
const lineMs = 15_000
const clearLine = '\r\u001b[K'

/** One line that redraws itself on a terminal, a line now and then elsewhere. @param now in ms, on a monotonic clock */
export function startExploreProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  { target, seconds }: { target: string; seconds: number },
  now: () => number = () => performance.now(),
): ExploreProgress {
  const isTerminal = stream.isTTY === true
  const begunMs = now()
  let writtenMs = begunMs
  stream.write(
    `Exploring ${printable(target)} for ${seconds} s; most calls are wrong on purpose, and may look like an attack in its log\n`,
  )
  return {
    called(calls) {
      if (now() - writtenMs < (isTerminal ? redrawMs : lineMs)) return
      writtenMs = now()
      const elapsed = Math.round((writtenMs - begunMs) / 1000)
      const time = elapsed > seconds ? `${elapsed} s, repeating what was found` : `${elapsed} of ${seconds} s`
      const text = `${counted(calls, 'call')}, ${time}`
      stream.write(isTerminal ? `${clearLine}${text}` : `${text}\n`)
    },
    say: (text) => void stream.write(`${isTerminal ? clearLine : ''}${printableLines(text)}\n`),
    end: () => void (isTerminal && stream.write(clearLine)),
  }
}
