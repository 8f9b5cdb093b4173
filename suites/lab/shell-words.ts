/** Splits a line of a POSIX shell into words: quotes, `$'…'` and continued lines, but no expansions. */

const ansiEscapes: { [mark: string]: string } = {
  n: '\n',
  t: '\t',
  r: '\r',
  '0': '\0',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
}

/** The words of a command line, up to the first unquoted `|`, `;`, `&`, `<` or `>`. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let rest = line
  const add = (text: string) => {
    word = (word ?? '') + text
  }
  while (rest !== '') {
    const part = nextPart(rest)
    rest = rest.slice(part.length)
    if (part.kind === 'end') break
    if (part.kind === 'text') add(part.text)
    else if (part.kind === 'space' && word !== null) {
      words.push(word)
      word = null
    }
  }
  return word === null ? words : [...words, word]
}

type Part = { kind: 'text'; text: string; length: number } | { kind: 'space' | 'nothing' | 'end'; length: number }

function nextPart(rest: string): Part {
  const single = /^'([^']*)'?/.exec(rest)
  if (single !== null) return { kind: 'text', text: single[1] ?? '', length: single[0].length }
  const ansi = /^\$'((?:\\[\s\S]|[^'\\])*)'?/.exec(rest)
  if (ansi !== null) return { kind: 'text', text: unescapeAnsi(ansi[1] ?? ''), length: ansi[0].length }
  const double = /^"((?:\\[\s\S]|[^"\\])*)"?/.exec(rest)
  if (double !== null) return { kind: 'text', text: unescapeDouble(double[1] ?? ''), length: double[0].length }
  const continued = /^\\\r?\n/.exec(rest)
  if (continued !== null) return { kind: 'nothing', length: continued[0].length }
  if (rest.startsWith('\\')) return { kind: 'text', text: rest.slice(1, 2), length: 2 }
  const space = /^\s+/.exec(rest)
  if (space !== null) return { kind: 'space', length: space[0].length }
  if (/^[|;&<>]/.test(rest)) return { kind: 'end', length: rest.length }
  const plain = /^[^'"\\\s|;&<>]+?(?=\$'|['"\\\s|;&<>]|$)/.exec(rest)
  return { kind: 'text', text: plain?.[0] ?? rest.slice(0, 1), length: plain?.[0].length ?? 1 }
}

function unescapeDouble(text: string): string {
  return text.replace(/\\(\r?\n|[\s\S])/g, (whole, mark: string) => {
    if (mark.endsWith('\n')) return ''
    return '"\\$`'.includes(mark) ? mark : whole
  })
}

function unescapeAnsi(text: string): string {
  return text.replace(/\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g, (_, mark: string) =>
    /^[xuU]./.test(mark) ? String.fromCodePoint(Number.parseInt(mark.slice(1), 16)) : (ansiEscapes[mark] ?? mark),
  )
}
