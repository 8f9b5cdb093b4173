/** Builds the lab page: one HTML file with style, script and vectors in it, and a policy that forbids every connection. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { parseRequirements } from '../engine/fixture/parse.ts'
import { loadVectors } from '../engine/fixture/vectors.ts'
import { flatVectors } from '../engine/fixture/vectors-flat.ts'

/**
 * The whole page as text. The script is bundled from this folder and the very modules of `diagnose`.
 *
 * @throws Error where rolldown, a development dependency, is not installed
 */
export async function buildLab(): Promise<string> {
  const script = (await bundle()).replaceAll('</script', '<\\/script')
  const style = source('lab.css')
  // In JSON a "<" is the same as its escape; in HTML only the escape cannot end the element.
  const data = JSON.stringify(corpus()).replaceAll('<', '\\u003c')
  const parts: [place: string, content: string][] = [
    ['lab:policy', policy(script, style)],
    ['/* lab:style */', style],
    ['"lab:corpus"', data],
    ['/* lab:script */', script],
  ]
  // A function, since "$" means something in a replacement text.
  return parts.reduce((page, [place, content]) => page.replace(place, () => content), source('lab.html'))
}

/** Scripts and styles by their hash alone, and no address of any kind. */
function policy(script: string, style: string): string {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

function corpus() {
  const file = 'spec/requirements.yaml'
  const requirements = parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file)
  return {
    vectors: flatVectors(loadVectors(packageRoot)).vectors,
    sentences: Object.fromEntries(requirements.map(({ id, text }) => [id, text])),
  }
}

async function bundle(): Promise<string> {
  const { rolldown } = await import('rolldown')
  const built = await rolldown({ input: join(packageRoot, 'suites/lab/page.ts'), platform: 'browser' })
  const { output } = await built.generate({ format: 'iife', minify: true })
  await built.close()
  return output[0].code
}

function source(name: string): string {
  return readFileSync(join(packageRoot, 'suites/lab', name), 'utf8')
}
