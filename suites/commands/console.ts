/** The only file that writes to stdout and stderr. It takes what is printable, so that no foreign text gets there by accident. */
import type { Printable } from '../engine/printable.ts'

/** Results: what a user may send to a file or another program. */
export function writeOut(text: Printable): void {
  process.stdout.write(text)
}

/** What is said beside the results: the plan, the progress, mistakes. */
export function writeError(text: Printable): void {
  process.stderr.write(text)
}
