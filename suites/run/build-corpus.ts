import { writeCorpusCache } from './corpus-cache.ts'

// A corpus with a mistake in it is told by every command that reads it; the build is about the code.
writeCorpusCache().catch((error: Error) => console.error(error.message))
