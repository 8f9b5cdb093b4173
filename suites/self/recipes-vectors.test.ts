/** Every recipe of fixtures/recipes reproduces every vector, in each language that is on this machine; the others are listed. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { chromiumMissing, launchChromium } from './chromium.ts'

const folder = join(packageRoot, 'fixtures', 'recipes')
const table = readFileSync(join(folder, 'vectors.tsv'), 'utf8')
const cases = table
  .split('\n')
  .slice(0, -1)
  .map((line) => line.split('\t'))
const headers = cases.map((columns) => columns[9])
/** A first compilation on a busy machine. */
const patienceMs = 180_000

interface Recipe {
  language: string
  command: [string, ...string[]]
  /** Whether the language is installed. */
  probe: [string, ...string[]]
  needs: string
}

const rustTarget = join(packageRoot, 'node_modules', '.cache', 'recipes-rust')
const recipes: Recipe[] = [
  { language: 'shell', command: ['sh', 'sign.sh'], probe: ['openssl', 'pkeyutl', '-help'], needs: 'sh and OpenSSL 3' },
  {
    language: 'Python',
    command: ['python3', 'sign.py'],
    probe: ['python3', '-c', 'import cryptography'],
    needs: 'python3 with "cryptography"',
  },
  { language: 'Go', command: ['go', 'run', 'sign.go'], probe: ['go', 'version'], needs: 'go' },
  { language: 'Java', command: ['java', 'Sign.java'], probe: ['javac', '-version'], needs: 'a JDK of 17 or later' },
  {
    language: 'Rust',
    command: ['cargo', 'run', '--offline', '--quiet', '--manifest-path', 'rust/Cargo.toml', '--target-dir', rustTarget],
    probe: ['cargo', 'fetch', '--offline', '--quiet', '--manifest-path', 'rust/Cargo.toml'],
    needs: 'cargo, and its three crates: cargo fetch --manifest-path fixtures/recipes/rust/Cargo.toml',
  },
  {
    language: 'JavaScript on node',
    command: [process.execPath, 'sign-node.mjs'],
    probe: [process.execPath, '-v'],
    needs: 'node',
  },
]

describe('recipes', () => {
  test('the table has every vector', () => {
    expect(cases.length).toBeGreaterThanOrEqual(24)
    for (const columns of cases) expect(columns.length).toBe(10)
  })

  for (const { language, command, probe, needs } of recipes) {
    const here = run(probe, '').status === 0
    test.skipIf(!here)(`${language}${here ? '' : ` (NOT RUN: needs ${needs})`}`, { timeout: patienceMs }, () => {
      const { status, stdout, stderr } = run(command, table)
      expect({ status, stderr: status === 0 ? '' : stderr, lines: stdout.split('\n').slice(0, -1) }).toEqual({
        status: 0,
        stderr: '',
        lines: headers,
      })
    })
  }

  test('WebCrypto, on node', async () => {
    const { sign } = (await import(join(folder, 'sign-browser.mjs'))) as { sign: WebSign }
    for (const columns of cases) expect(await sign(requestOf(columns))).toBe(columns[9])
  })

  const inChromium = `WebCrypto, in Chromium${chromiumMissing}`
  test.skipIf(chromiumMissing !== '')(inChromium, { timeout: patienceMs }, async () => {
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      // WebCrypto exists in secure contexts only, and localhost is one; no server is asked.
      await page.route('http://localhost/', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }),
      )
      await page.goto('http://localhost/')
      const source = readFileSync(join(folder, 'sign-browser.mjs'), 'utf8')
      await page.addScriptTag({ type: 'module', content: `${source}\nglobalThis.sign = sign` })
      await page.waitForFunction(() => 'sign' in globalThis)
      const made = await page.evaluate(
        async (requests) => {
          const { sign } = globalThis as unknown as { sign: WebSign }
          const bytes = (numbers: number[]) => new Uint8Array(numbers)
          const whole = ({ body, pkcs8, ...rest }: (typeof requests)[number]) =>
            pkcs8 === undefined ? { ...rest, body: bytes(body) } : { ...rest, body: bytes(body), pkcs8: bytes(pkcs8) }
          return Promise.all(requests.map((request) => sign(whole(request))))
        },
        // Typed arrays cannot be passed to a page.
        cases.map(requestOf).map(({ body, pkcs8, ...rest }) => ({
          ...rest,
          body: [...body],
          ...(pkcs8 === undefined ? {} : { pkcs8: [...pkcs8] }),
        })),
      )
      expect(made).toEqual(headers)
    } finally {
      await browser.close()
    }
  })
})

interface WebRequest {
  scheme: string
  keyId: string
  secret?: string
  pkcs8?: Uint8Array
  method: string
  uri: string
  body: Uint8Array
  timestamp: string
  nonce: string
}

type WebSign = (request: WebRequest) => Promise<string>

function requestOf(columns: readonly string[]): WebRequest {
  const [kind, scheme = '', keyId = '', key = '', method = '', uri = '', body = '', timestamp = '', nonce = ''] =
    columns
  const withKey = kind === 'hmac' ? { secret: key } : { pkcs8: new Uint8Array(Buffer.from(key, 'base64')) }
  const bytes = new Uint8Array(Buffer.from(body === '-' ? '' : body, 'base64'))
  return { scheme, keyId, ...withKey, method, uri, body: bytes, timestamp, nonce }
}

function run([program, ...args]: readonly [string, ...string[]], input: string) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, input, encoding: 'utf8' })
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' }
}
