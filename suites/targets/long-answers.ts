/**
 * Long answers are read a few at a time, and what is left of them is collected: V8 by itself may let a process grow beyond what SECURITY.md
 * promises.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Shorter answers are read as they come. In bytes. */
export const longAnswer = 2 ** 18
/** How many long answers are read at the same time. */
const mostAtOnce = 3
/** Bytes of long answers after which garbage is collected. */
const mostGarbage = 6 * 2 ** 20

let underWay = 0
const waiting: (() => void)[] = []

/** Waits until another long answer may be read. @returns what lets the next one begin */
export async function takeTurn(): Promise<() => void> {
  if (underWay >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  else underWay += 1
  return () => {
    const next = waiting.shift()
    if (next === undefined) underWay -= 1
    else next()
  }
}

let garbage = 0
let collect: (() => void) | undefined

/** Counts an answer that was read, and collects garbage when many long ones were. */
export function noteAnswerRead(bytes: number): void {
  if (bytes < longAnswer) return
  garbage += bytes
  if (garbage >= mostGarbage) collectAnswers()
}

/** Collects what is left of long answers, if there were any. */
export function collectAnswers(): void {
  if (garbage === 0) return
  garbage = 0
  collect ??= exposeCollector()
  collect()
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
