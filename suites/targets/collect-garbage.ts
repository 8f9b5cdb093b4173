/** Long answers become garbage faster than V8 collects it by itself, and the process could grow beyond the documented limit. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of long answers after which garbage is collected. */
const mostGarbage = 16 * 2 ** 20
/** V8 collects shorter answers in time. */
const longAnswer = 2 ** 18

let garbage = 0
let collect: (() => void) | undefined

/** Counts an answer, and collects garbage after many long ones. */
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
