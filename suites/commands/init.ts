import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usageError } from '../engine/errors.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { line, lines } from '../engine/printable.ts'
import { fileProblem } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { writeOut } from './console.ts'

const initFlags = {
  url: flag.preset('--url <url>', 'base URL of the server', 'https://service.example', flag.baseUrl),
  force: flag.mark('--force', 'overwrite the file'),
}

export const command: flag.Command<typeof initFlags, string> = {
  about: 'write a commented target file',
  operand: ['[file]', 'file to write', 'svc-target.yaml'],
  flags: initFlags,
  run(typed, file) {
    const { url, force } = flag.read(initFlags, typed)
    const template = readFileSync(join(packageRoot, 'fixtures', 'svc-target.yaml'), 'utf8')
    const text = template.replace('{schema}', () => schemaFor(file)).replace('url: {url}', () => `url: ${url}`)
    writeTargetFile(file, text, force)
    writeOut(lines([line`Wrote ${file}; next: npx svc-conformance run --target ${file} --plan`]))
  },
}

/** The path of the schema for editors, relative to the file: in the project's node_modules, or where this package is installed. */
function schemaFor(file: string): string {
  const schema = join(packageRoot, 'spec', 'schemas', 'target.schema.json')
  const [project = ''] = packageRoot.split(`${sep}node_modules${sep}`)
  const folder = dirname(resolve(file))
  const isInProject = project !== packageRoot && (folder === project || folder.startsWith(project + sep))
  return isInProject ? relative(folder, schema).replaceAll(sep, '/') : pathToFileURL(schema).href
}

function writeTargetFile(file: string, text: string, force: boolean): void {
  try {
    // A secret may be added to it.
    writeFileSync(file, text, { flag: force ? 'w' : 'wx', mode: 0o600 })
  } catch (cause) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw usageError(
        `Cannot write "${file}": it is a folder; name a file in it, such as "${join(file, 'svc-target.yaml')}"`,
        { cause },
      )
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw usageError(`Cannot write "${file}": it exists; name another file, or overwrite it with "--force"`)
    throw usageError(`Cannot write "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
}
