import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumMissing, launchChromium, obstaclesOn, windowFor } from '../../self/chromium.ts'
import { hostile, madeUpReport, mended } from '../../self/made-up-report.ts'
import { openFolder } from '../../self/temporary.ts'
import type { Report } from '../report.ts'
import { comparisonPage } from './build-comparison.ts'
import { addReport, noComparison } from './comparison.ts'

const { at, write } = openFolder()

const first = madeUpReport()
const second: Report = { ...mended(first), meta: { ...first.meta, started: '2026-02-02T00:00:00.000Z' } }
const elsewhere: Report = { ...first, meta: { ...first.meta, target: 'http://b.example' } }
const own: Report = { ...second, meta: { ...second.meta, target: `http://mine.example/${hostile.slice(0, 60)}` } }

describe.skipIf(chromiumMissing !== '')(`the page of many servers in Chromium${chromiumMissing}`, () => {
  let browser: Browser
  let open: Awaited<ReturnType<typeof windowFor>>
  beforeAll(async () => {
    const comparison = [first, elsewhere, second].reduce(addReport, noComparison)
    write('page.html', await comparisonPage(comparison, { version: '0.1.0', made: new Date(0) }))
    write('own.json', JSON.stringify(own))
    browser = await launchChromium()
    open = await windowFor(browser, at('page.html'))
  })
  afterAll(() => browser?.close())

  const rows = (page: Page) => page.locator('tbody tr').count()

  test('shows every server and requirement, without the network and without a complaint', async () => {
    const { page, complaints } = await open()
    expect(await page.locator('#servers li').count()).toBe(2)
    expect(await rows(page)).toBe(first.requirements.length)
    expect(await page.getByRole('button', { name: 'signatures/hmac, http://b.example: failed' }).textContent()).toBe(
      '✗',
    )
    expect(await page.getByRole('button', { name: 'signatures/hmac, http://127.0.0.1:9111: passed' }).count()).toBe(1)
    expect(await page.getByRole('img', { name: 'Failed cases over 2 reports: from 2 to 1, at most 2' }).count()).toBe(1)
    expect(complaints).toEqual([])
  })

  test('a cell leads to its cases, with the received answer, and has an address', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'signatures/hmac, http://b.example: failed' }).click()
    const dialog = page.getByRole('dialog', { name: 'signatures/hmac' })
    expect(await dialog.textContent()).toContain('expected the call to be accepted, it was refused')
    const { page: again } = await open(new URL(page.url()).hash)
    expect(await again.getByRole('dialog', { name: 'signatures/hmac' }).isVisible()).toBe(true)
    await again.keyboard.press('Escape')
    await expect.poll(() => again.getByRole('dialog').count()).toBe(0)
    await expect.poll(() => new URL(again.url()).hash).toBe('')
  })

  test('says what changed between two reports of a server', async () => {
    const { page } = await open()
    await page.locator('#servers').getByRole('button', { name: 'A: http://127.0.0.1:9111' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('status').textContent()).toBe('1 requirement and 1 case changed')
    expect(await dialog.locator('.changes li').allTextContents()).toEqual(['✗ → ✓ signatures/hmac failed, now passed'])
    await dialog.getByRole('combobox', { name: 'Report to compare from' }).selectOption({ index: 1 })
    expect(await dialog.getByRole('status').textContent()).toBe('Nothing changed')
    expect(page.url()).toContain('from=2026-02-02')
  })

  test('takes a report of your own, as text and not as markup', async () => {
    const { page, complaints } = await open()
    await page.locator('#file').setInputFiles(at('own.json'))
    await page.locator('#servers li.own').waitFor()
    expect(await page.locator('#servers li.own .name').textContent()).toContain('http://mine.example/<script>')
    expect(await page.locator('#status').textContent()).toContain('it stays in your browser')
    await page.locator('#file').setInputFiles(write('no.json', '{}'))
    await expect.poll(() => page.locator('#status').textContent()).toContain('no.json is not a JSON report')
    expect(complaints).toEqual([])
  })

  test('filters by words, and by where servers differ', async () => {
    const { page } = await open()
    await page.getByLabel('only where servers differ').check()
    expect(await page.locator('tbody th').allTextContents()).toEqual(['signatures/hmac'])
    await page.getByLabel('only where servers differ').uncheck()
    await page.keyboard.press('/')
    await page.keyboard.type('key ids are')
    expect(await page.locator('tbody th').allTextContents()).toEqual(['keys/unique-ids'])
    expect(await page.getByRole('status').textContent()).toBe('1 of 7 requirements')
  })

  test('the table is a grid that arrow keys walk through, with one cell in the tab order', async () => {
    const { page } = await open()
    expect(await page.getByRole('grid').getByRole('columnheader').count()).toBe(4)
    expect(await page.getByRole('grid').getByRole('rowheader').count()).toBe(first.requirements.length)
    expect(await page.locator('tbody button[tabindex="0"]').count()).toBe(1)
    await page.locator('tbody button').first().focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowDown')
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe('basic/credentials, http://b.example: failed')
    expect(await page.locator('tbody button[tabindex="0"]').count()).toBe(1)
    await page.keyboard.press('Enter')
    expect(await page.getByRole('dialog').isVisible()).toBe(true)
  })

  test('is readable in light and in dark, fits a phone, and has a name for every control', async () => {
    for (const hash of ['', '#server=http%3A%2F%2F127.0.0.1%3A9111']) {
      const { page } = await open(hash)
      expect(await obstaclesOn(page), hash).toEqual([])
    }
  })
})
