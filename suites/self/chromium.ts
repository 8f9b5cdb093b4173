/** The browser of the tests and of the picture: Chromium as Debian has it, or what CHROMIUM names. */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** A suffix for the names of tests that need it; empty if it is installed. */
export const chromiumMissing = existsSync(executablePath)
  ? ''
  : ` (NOT RUN: there is no ${executablePath}; CHROMIUM names another)`

/** Starts it without its own network requests. */
export function launchChromium(): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ]
  return chromium.launch({ executablePath, args, timeout: 0 })
}

/** Opens a page without limits of time, which machines differ in. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options)
  page.setDefaultTimeout(0)
  return page
}

/** Opens a window for one file, which is opened again for each test. What its page complains about, and what it loads, is kept. */
export async function windowFor(browser: Browser, file: string, options: BrowserContextOptions = {}) {
  const url = pathToFileURL(file).href
  const page = await openPage(browser, options)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => complaints.push(message.text()))
  page.on('request', (request) => {
    if (request.url().replace(/#.*/, '') !== url) complaints.push(request.url())
  })
  return async (hash = '') => {
    complaints.length = 0
    await page.goto('about:blank')
    await page.goto(url + hash)
    return { page, complaints }
  }
}

/** What keeps people from using a page: controls without a name, texts of low contrast, light or dark, and what is wider than a phone. */
export async function obstaclesOn(page: Page): Promise<string[]> {
  const obstacles = (await page.evaluate(namelessControls)) as string[]
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const text of (await page.evaluate(lowContrast)) as string[]) obstacles.push(`${colorScheme}: ${text}`)
  }
  await page.emulateMedia({ colorScheme: null })
  const usualSize = page.viewportSize()
  await page.setViewportSize({ width: 360, height: 740 })
  const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
  if (width > 360) obstacles.push(`${width} pixels on a phone`)
  if (usualSize !== null) await page.setViewportSize(usualSize)
  return obstacles
}

/** Controls and pictures without a name for a screen reader, and fields with several labels. Runs in the page. */
const namelessControls = `(() => {
  const nameOf = (one) =>
    one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.closest('label')?.textContent ?? one.textContent
  return [...document.querySelectorAll('button:not([hidden]), input, select, textarea, svg, summary')]
    .filter((one) => !(nameOf(one) ?? '').trim() || one.labels?.length > 1)
    .map((one) => 'no one name: ' + one.outerHTML)
})()`

/** Texts whose contrast is below 4.5 to 1, as WCAG counts it. Runs in the page. */
const lowContrast = `(() => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = (colour) => {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const behind = (element) => {
    const colour = element === null ? 'rgb(255, 255, 255)' : getComputedStyle(element).backgroundColor
    return element === null || (channels(colour)[3] ?? 1) > 0 ? colour : behind(element.parentElement)
  }
  return [...document.querySelectorAll('body *')].flatMap((element) => {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
    if (!hasText || element.tagName === 'SCRIPT') return []
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))]
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    return ratio < 4.5 ? [element.className + ' ' + element.textContent.slice(0, 30) + ': ' + ratio.toFixed(2)] : []
  })
})()`
