/**
 * Makes .github/report.png, the picture of the HTML report in the README: a run against a server with three defects, over HTTP.
 * Needs a build (dist) and Chromium. With `--html FILE` the page is kept.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../suites/engine/fixture/package-root.ts'
import { launchChromium } from '../suites/self/chromium.ts'
import { loadMutants, startMockServer } from '../suites/targets/bundled.ts'

const defects = ['old-access-token-lives-on', 'seventeen-sessions-kept', 'whole-mac-taken-too']
const port = 9111
const folder = mkdtempSync(join(tmpdir(), 'svc-picture-'))
const kept = process.argv.indexOf('--html')
const page = kept === -1 ? join(folder, 'report.html') : (process.argv[kept + 1] ?? '')
const picture = join(packageRoot, '.github', 'report.png')

const mutants = (await loadMutants()).filter(({ id }) => defects.includes(id))
const server = await startMockServer({ port, rules: Object.assign({}, ...mutants.map((mutant) => mutant.with)) })
try {
  await runSuite(server.url, server.rootKey)
  await takePicture()
} finally {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}

function runSuite(url: string, key: { id: string; secret: string }): Promise<void> {
  const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
  const child = spawn(process.execPath, [bin, 'run', '--url', url, '--disposable', '--report', `html=${page}`], {
    env: { ...process.env, SVC_KEY_ID: key.id, SVC_KEY_SECRET: key.secret },
    stdio: 'inherit',
  })
  return new Promise((resolve) => child.on('close', () => resolve()))
}

async function takePicture(): Promise<void> {
  const browser = await launchChromium()
  const tab = await browser.newPage({ viewport: { width: 1200, height: 1150 }, colorScheme: 'light' })
  await tab.goto(pathToFileURL(page).href)
  await tab.screenshot({ path: picture })
  await browser.close()
  console.log(`Wrote ${picture}`)
}
