/** Builds a self-contained HTML page: style, script and data are in it, and its own policy forbids every connection. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'

/** The parts of a page. Paths start at the root of the package. */
interface PageParts {
  /** Path of the template: `page:policy`, `page:style` and `page:script` stand where the parts go. */
  template: string
  style: string
  /** Path of the module that the script is bundled from. */
  script: string
}

/**
 * The page as text, with `"page:data"` where its data go.
 *
 * @throws Error where rolldown, a development dependency, is not installed
 */
export async function buildPage(parts: PageParts): Promise<string> {
  const script = (await bundle(parts.script)).replaceAll('</script', '<\\/script')
  // Functions, since "$" means something in a replacement text.
  return asset(parts.template)
    .replace('page:policy', pagePolicy(parts.style, script))
    .replace('/* page:style */', () => parts.style)
    .replace('/* page:script */', () => script)
}

/** The page that `npm run build` left at `path` of dist/; where the sources run, the page is built on the spot. */
export async function builtPage(path: string, build: () => Promise<string>): Promise<string> {
  const file = join(packageRoot, 'dist', path)
  return import.meta.url.endsWith('.js') && existsSync(file) ? readFileSync(file, 'utf8') : build()
}

/** A template, a style or a script of a page. The sources have it in its place; the package has it at the same place of dist/. */
export function asset(path: string): string {
  return readFileSync([path, join('dist', path)].map((one) => join(packageRoot, one)).find(existsSync) ?? path, 'utf8')
}

/** What the pages share, then style sheets of its own. */
export function pageStyle(...paths: string[]): string {
  return ['suites/page/base.css', ...paths].map(asset).join('')
}

/** The page with its data, as JSON. */
export function withData(page: string, data: unknown): string {
  // In JSON a "<" is the same as its escape; in HTML only the escape cannot end the element.
  return page.replace('"page:data"', () => JSON.stringify(data).replaceAll('<', '\\u003c'))
}

/** Allows this style and this script by their hashes, and no address of any kind. @param script null: the page has none */
export function pagePolicy(style: string, script: string | null): string {
  const scriptSource = script === null ? '' : `script-src ${hash(script)}; `
  return `default-src 'none'; ${scriptSource}style-src ${hash(style)}; base-uri 'none'; form-action 'none'`
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

async function bundle(module: string): Promise<string> {
  const { rolldown } = await import('rolldown')
  const built = await rolldown({ input: join(packageRoot, module), platform: 'browser' })
  const { output } = await built.generate({ format: 'iife', minify: true })
  await built.close()
  return output[0].code
}
