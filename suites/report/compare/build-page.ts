/** Builds the page of many servers without its reports: one HTML file with style and script in it, and a policy that forbids every connection. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../engine/fixture/package-root.ts'
import { htmlStyle } from '../html-style.ts'

/**
 * The page as text, with `"compare:data"` where the reports go.
 *
 * @throws Error where rolldown, a development dependency, is not installed
 */
export async function buildPage(): Promise<string> {
  const script = (await bundle()).replaceAll('</script', '<\\/script')
  const style = htmlStyle + source('compare.css')
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`
  const parts: [place: string, content: string][] = [
    ['compare:policy', policy],
    ['/* compare:style */', style],
    ['/* compare:script */', script],
  ]
  // A function, since "$" means something in a replacement text.
  return parts.reduce((page, [place, content]) => page.replace(place, () => content), source('compare.html'))
}

async function bundle(): Promise<string> {
  const { rolldown } = await import('rolldown')
  const built = await rolldown({ input: join(packageRoot, 'suites/report/compare/page.ts'), platform: 'browser' })
  const { output } = await built.generate({ format: 'iife', minify: true })
  await built.close()
  return output[0].code
}

function source(name: string): string {
  return readFileSync(join(packageRoot, 'suites/report/compare', name), 'utf8')
}
