/** The browser of the tests and of the picture: Chromium as Debian has it, or what CHROMIUM names. */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core'

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
  return chromium.launch({ executablePath, args })
}

/** Opens a window for one file, which is opened again for each test. What its page complains about, and what it loads, is kept. */
export async function windowFor(browser: Browser, file: string, options: BrowserContextOptions = {}) {
  const url = pathToFileURL(file).href
  const page = await (await browser.newContext(options)).newPage()
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

/** Texts whose contrast is below 4.5 to 1, as WCAG counts it. Runs in the page. */
export const lowContrast = `(() => {
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
