/** The browser of the tests and of the picture: Chromium as Debian has it, or what CHROMIUM names. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** For the name of what cannot be tested without it; empty where it is there. */
export const chromiumMissing = existsSync(executablePath)
  ? ''
  : ` (NOT RUN: there is no ${executablePath}; CHROMIUM names another)`

/** Starts it, without what it would ask the network for on its own. */
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
