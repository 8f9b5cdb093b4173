/* A file of its own, because the lab page has it in a browser, where no YAML is read. */

/** How many insertions, deletions, substitutions and swaps of neighbours turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let twoAgo: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let cost = Math.min(at(above, column) + 1, at(current, column - 1) + 1, at(above, column - 1) + (same ? 0 : 1))
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, at(twoAgo, column - 2) + 1)
      }
      current.push(cost)
    }
    twoAgo = above
    above = current
  }
  return at(above, to.length)
}

function at(line: number[], column: number): number {
  return line[column] ?? Number.POSITIVE_INFINITY
}
