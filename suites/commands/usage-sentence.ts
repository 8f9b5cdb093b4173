import type { CommanderError } from 'commander'

/** The error of commander in the words of this suite; null if the help was printed instead. */
export function usageSentence(error: Pick<CommanderError, 'code' | 'message'>): string | null {
  if (error.code === 'commander.help') return null
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const meant = /Did you mean (?:one of )?(.+)\?/.exec(more.join(' '))?.[1]
  const sentence = capital(first.replaceAll("'", '"').replace(/\.$/, ''))
    .replace('Unknown option', 'Unknown flag')
    .replace(/\. Expected (\d+) arguments? but got (\d+)$/, ': expected $1, got $2')
  if (sentence === 'Unknown flag "--secret"') return `${sentence}: ${whereSecretsGo}`
  return meant === undefined ? sentence : `${sentence}, did you mean ${quoted(meant)}?`
}

const whereSecretsGo =
  'give the secret in a variable or in a file, as "--help" says, because every process list shows flags'

function quoted(words: string): string {
  return words
    .split(', ')
    .map((word) => `"${word}"`)
    .join(' or ')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
