/** The only file that writes to stdout and stderr. It accepts only printable text, so that no foreign text gets there by accident. */
import type { Printable } from '../engine/printable.ts'

/** Prints results, which a user may send to a file or another program. */
export function writeOut(text: Printable): void {
  process.stdout.write(text)
}

/** Everything besides the results: the plan, the progress, errors. */
export function writeError(text: Printable): void {
  process.stderr.write(text)
}
