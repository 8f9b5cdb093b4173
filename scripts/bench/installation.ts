/** The dependencies that an installation of the package adds, as the lock file has them for this platform. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../suites/engine/language/package-root.ts'
import type { Measure } from './measure.ts'

interface LockFile {
  packages: { [path: string]: { dev?: boolean } }
}

export const installationMeasure: Measure = {
  id: 'installation',
  async run() {
    const { packages } = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as LockFile
    const paths = Object.entries(packages)
      .filter(([path, { dev = false }]) => path !== '' && !dev)
      .map(([path]) => join(packageRoot, path))
      // Those of other platforms are in the lock file and not here.
      .filter((path) => existsSync(path))
    const bytes = paths.reduce((sum, path) => sum + bytesIn(path), 0)
    return [
      { name: 'Packages in an installation', value: paths.length, unit: 'packages', runs: 1, wanted: {} },
      { name: 'Their size', value: bytes / 1e6, unit: 'MB', runs: 1, wanted: {} },
    ]
  },
}

/** Without the packages inside, which the lock file lists by themselves. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? sum : sum + bytesIn(path)
    return entry.isFile() ? sum + statSync(path).size : sum
  }, 0)
}
