/** Long answers become garbage faster than V8 collects it by itself: it may let a process grow beyond what docs promise. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of long answers after which garbage is collected. */
const mostGarbage = 16 * 2 ** 20
/** Shorter answers are left to V8. */
const longAnswer = 2 ** 18

let garbage = 0
let collect: (() => void) | undefined

/** Counts an answer that was read, and collects garbage when many long ones were. */
export function noteAnswerRead(bytes: number): void {
  if (bytes < longAnswer) return
  garbage += bytes
  if (garbage < mostGarbage) return
  garbage = 0
  collect ??= exposeCollector()
  collect()
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
