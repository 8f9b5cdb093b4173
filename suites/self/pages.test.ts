import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseTargetFile } from '../run/target-file.ts'
import { countAll, numbersTable } from './numbers.ts'
import { freePorts } from './printed-by.ts'
import { isProof, onlyInProof } from './proof-form.ts'
import { blockIn } from './sources.ts'

/**
 * Runs every ```console block of the README and of docs/, each as one shell session in a folder of its own, and demands that it
 * prints what it shows. A block that names a `file=` is that file in the folder. `…` stands for what differs from run to run. `npx svc-conformance` is the built command line of this checkout.
 */
const pages = ['README.md', ...readdirSync(join(packageRoot, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)
const textOf = (page: string): string => readFileSync(join(packageRoot, page), 'utf8')
/** The port of a command, a URL or an address on a page. */
const portShown = /(?<=--port |127\.0\.0\.1:)(?!8080)8[01]\d\d\b/g
const portsShown = [...new Set(pages.flatMap((page) => textOf(page).match(portShown) ?? []))]
const ports = await freePorts(portsShown.length)
/** With free ports: whoever tests another checkout at the same time uses those that are shown, too. */
const atFreePorts = (text: string): string =>
  text.replace(portShown, (shown) => String(ports[portsShown.indexOf(shown)]))
const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const folder = mkdtempSync(join(tmpdir(), 'svc-pages-'))

/** Outside of a proof these commands run fewer cases than a reader's, with the same lines around them. */
const shortened: { readonly [command: string]: string } = {
  'npx svc-conformance run': ' --only basic --only envelope/missing-id',
  'npx svc-conformance run --url http://127.0.0.1:8099 --wait 10': ' --only basic --only signatures/hmac-accepted',
  "npx svc-conformance client --command 'node adapter.mjs' --auth hmac": ' --only plain/hmac --only error-in-200/hmac',
}
/** Outside of a proof the blocks with these are left out: other tests run the same commands, and these take long. */
const againInProof: readonly string[] = [
  'npx svc-conformance run --set 1.0 --report json=report.json > /dev/null',
  'npx svc-conformance run --only signatures/hmac-accepted --report json=reference.json > /dev/null',
  'npx svc-conformance explore --url http://127.0.0.1:8141 --disposable --explore-calls 400 --save found',
  'npx svc-conformance facts --url http://127.0.0.1:8131 --wait 10 --allow sessions --as-profile profile.json',
  'npx svc-conformance diff --url http://127.0.0.1:8132 --url http://127.0.0.1:8133 --wait 10 --calls 60; echo "exit code $?"',
]

test('what is shortened outside of a proof is on a page', () => {
  const commands = pages.flatMap((page) => consoleBlocks(textOf(page)).flatMap((block) => block.commands))
  const known = new Set(commands.map(({ command }) => command))
  expect([...Object.keys(shortened), ...againInProof].filter((command) => !known.has(command))).toEqual([])
})

test('the README is short', () => expect(textOf('README.md').split('\n').length).toBeLessThanOrEqual(200))

describe.each(pages)('%s', (page) => {
  const cwd = join(folder, page.replaceAll(/[/.]/g, '-'))
  mkdirSync(cwd, { recursive: true })
  for (const [, name = '', content = ''] of textOf(page).matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm))
    writeFileSync(join(cwd, name), atFreePorts(content))
  const blocks = consoleBlocks(textOf(page))
  if (blocks.length === 0) test('has no console block', () => expect(textOf(page)).not.toContain('```console'))
  for (const { line, commands } of blocks) {
    const isLeftOut = !isProof && commands.some(({ command }) => againInProof.includes(command))
    const name = `line ${line}: ${commands[0]?.command}`
    test.skipIf(isLeftOut)(isLeftOut ? onlyInProof(name) : name, async () => {
      const outputs = await runSession(
        commands.map(({ command }) => atFreePorts(command + (isProof ? '' : (shortened[command] ?? '')))),
        cwd,
      )
      for (const [index, { command, output }] of commands.entries()) {
        if (output === '') continue
        // Fewer cases cannot show that a server conforms.
        const shown = !isProof && command in shortened ? output.replace('conforms', 'inconclusive') : output
        expect(outputs[index], `what "${command}" prints`).toMatch(asPattern(atFreePorts(shown)))
      }
    })
  }

  test('its links lead somewhere', () => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path)
    const missing = links.filter((path) => !existsSync(join(packageRoot, dirname(page), path)))
    expect(missing).toEqual([])
  })
})

// npx makes its link once; a later build left a file that is not executable.
test.skipIf(process.platform === 'win32')('npx can execute the build', () => {
  expect(statSync(bin).mode & 0o111).toBe(0o111)
})

test('the links of the README lead to files in the package', () => {
  const { files } = JSON.parse(textOf('package.json')) as { files: string[] }
  const links = [...textOf('README.md').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path)
  expect(links.filter((path) => !files.includes(path.split('/')[0] ?? ''))).toEqual([])
})

test('the target file in docs/target-file.md is valid', () => {
  const [, block = ''] = /```yaml\n([\s\S]*?)```/.exec(textOf('docs/target-file.md')) ?? []
  expect(parseTargetFile(block, 'svc-target.yaml')).toMatchObject({ allow: ['sessions'], rate: 20 })
})

const marker = '<<<next command>>>'

/** Runs the commands in one bash, and returns what each of them printed on stdout and stderr. */
function runSession(commands: string[], cwd: string): Promise<string[]> {
  const script = [
    // One pipe for both, as on a terminal; of two, either may be read first.
    'exec 2>&1',
    `npx() { if [ "$1" = svc-conformance ]; then shift; node "${bin}" "$@"; else command npx "$@"; fi; }`,
    ...commands.flatMap((command) => [command, `echo '${marker}'`]),
  ].join('\n')
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], {
      cwd,
      env: { ...process.env, NO_COLOR: '1', COLUMNS: '120' },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk
    })
    child.on('error', reject)
    // Background servers of the session hold its output open, so they are ended with it.
    child.on('exit', () => endGroup(child.pid))
    child.on('close', () => resolve(printed.split(`${marker}\n`)))
  })
}

function endGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGTERM')
  } catch {
    // Nothing was left in the background.
  }
}

const table = numbersTable(await countAll())
const readme = join(packageRoot, 'README.md')

test('the numbers in README.md are up to date; npm run numbers -- --write renews them', () => {
  expect(existsSync(readme)).toBe(true)
  expect(blockIn(readFileSync(readme, 'utf8'), 'numbers')).toBe(table)
})

interface ConsoleBlock {
  /** Where the block begins in the file. */
  line: number
  commands: { command: string; output: string }[]
}

/** The ```console blocks of a Markdown text: lines that begin with `$ ` are commands, what follows is their output. */
function consoleBlocks(markdown: string): ConsoleBlock[] {
  const blocks: ConsoleBlock[] = []
  let block: ConsoleBlock | null = null
  for (const [index, line] of markdown.split('\n').entries()) {
    if (block === null) {
      if (line === '```console') block = { line: index + 1, commands: [] }
    } else if (line === '```') {
      blocks.push(block)
      block = null
    } else if (line.startsWith('$ ')) {
      block.commands.push({ command: line.slice(2), output: '' })
    } else {
      const last = block.commands.at(-1)
      if (last?.command.endsWith('\\')) last.command += `\n${line}`
      else if (last !== undefined) last.output += `${line}\n`
    }
  }
  return blocks
}

/** The shown output as a pattern: `…` stands for anything, a line of its own that is `…` for any lines. */
function asPattern(output: string): RegExp {
  const lines = output.trimEnd().split('\n')
  const patterns = lines.map((line) =>
    line.trim() === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escapeForPattern).join('.*')}\\s*\\n`,
  )
  return new RegExp(patterns.join(''))
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
