const plainWord = /^[\w@%+=:,./-]+$/

/** A word as a POSIX shell needs it: quoted only where it must be. */
export const shellWord = (word: string): string => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
