interface ConsoleBlock {
  /** Where the block begins in the file. */
  line: number
  commands: { command: string; output: string }[]
}

/** The ```console blocks of a Markdown text: lines that begin with `$ ` are commands, what follows is their output. */
export function consoleBlocks(markdown: string): ConsoleBlock[] {
  const blocks: ConsoleBlock[] = []
  let block: ConsoleBlock | null = null
  for (const [index, line] of markdown.split('\n').entries()) {
    if (block === null) {
      if (line === '```console') block = { line: index + 1, commands: [] }
    } else if (line === '```') {
      blocks.push(block)
      block = null
    } else if (line.startsWith('$ ')) {
      block.commands.push({ command: line.slice(2), output: '' })
    } else {
      const last = block.commands.at(-1)
      if (last?.command.endsWith('\\')) last.command += `\n${line}`
      else if (last !== undefined) last.output += `${line}\n`
    }
  }
  return blocks
}

/** The shown output as a pattern: `…` stands for anything, a line of its own that is `…` for any lines. */
export function asPattern(output: string): RegExp {
  const lines = output.trimEnd().split('\n')
  const patterns = lines.map((line) =>
    line.trim() === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escapeForPattern).join('.*')}\\s*\\n`,
  )
  return new RegExp(patterns.join(''))
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
