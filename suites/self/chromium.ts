/** The browser of the tests and of the picture: Chromium as Debian has it, or what CHROMIUM names. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

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
