import { join } from 'node:path'
import { type RolldownOptions, rolldown } from 'rolldown'
import { packageRoot } from './engine/language/package-root.ts'

interface Bundle {
  /** Modules that something outside the bundle imports: they keep their place and their exports. */
  entries: readonly string[]
  /**
   * The folder of everything else. It lies in dist/suites/ like the folder of each module that looks for a file with `import.meta.url`, so
   * that `../` leads to the same place.
   */
  folder: string
}

const bundles: readonly Bundle[] = [
  { entries: ['scenarios.suite'], folder: 'worker' },
  {
    entries: ['cli', 'commands/console', 'run/ending'],
    folder: 'command-line',
  },
]

const compiled = join(packageRoot, 'dist', 'suites')

/** Modules of other packages stay in those packages. */
const isOfPackage = (id: string): boolean => !/^[./]|^[A-Za-z]:/.test(id)

async function writeBundle({ entries, folder }: Bundle): Promise<void> {
  const options: RolldownOptions = {
    input: Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)])),
    platform: 'node',
    external: isOfPackage,
  }
  const built = await rolldown(options)
  await built.write({
    dir: compiled,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${folder}/[name]-[hash].js`,
  })
  await built.close()
}

/**
 * Puts the compiled modules of the command line, and those of a worker, into few files. A run loads 300 modules, which takes a third of its
 * time if each is a file of its own. The other modules stay as they are, for programs that import the package.
 */
export async function writeBundles(): Promise<void> {
  // One after the other: the entries of the second would be read while those of the first are written.
  for (const bundle of bundles) await writeBundle(bundle)
}
