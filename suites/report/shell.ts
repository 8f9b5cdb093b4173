const plainWord = /^[\w@%+=:,./-]+$/

/** Quotes a word for a POSIX shell, if it needs quotes. */
export const shellWord = (word: string): string => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
