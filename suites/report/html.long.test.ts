import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumMissing, launchChromium, obstaclesOn, windowFor } from '../self/chromium.ts'
import { hostile, madeUpReport } from '../self/made-up-report.ts'
import { openFolder } from '../self/temporary.ts'
import { renderHtml } from './html.ts'

const report = madeUpReport()
const sources = new Map([
  ['spec/interface.md', 'Text.\n- <a id="signatures-hmac"></a>**Must.** The MAC is cut, see [there](#x).\n'],
  ['fixtures/scenarios/signatures/hmac-accepted.yaml', `scenario: A\nsteps:\n${'  - step: one\n'.repeat(10)}`],
])
const { at, write } = openFolder()

describe.skipIf(chromiumMissing !== '')(`the page in Chromium${chromiumMissing}`, () => {
  let browser: Browser
  let open: Awaited<ReturnType<typeof windowFor>>
  beforeAll(async () => {
    write('report.html', renderHtml(report, sources))
    browser = await launchChromium()
    open = await windowFor(browser, at('report.html'))
  })
  afterAll(() => browser?.close())
  const visible = (page: Page): Promise<string[]> =>
    page.locator('.case:not(.finding):not([hidden]) > summary code').allTextContents()

  test('loads nothing, complains about nothing, and runs no script that a server sent', async () => {
    const { page, complaints } = await open()
    expect(complaints).toEqual([])
    expect(await page.locator('body').textContent()).toContain(hostile.slice(0, 26))
    expect((await visible(page)).length).toBe(report.cases.length)
  })

  test('its policy keeps the network out', async () => {
    const { page } = await open()
    const outcome = await page.evaluate(() =>
      fetch('http://127.0.0.1:9/').then(
        () => 'fetched',
        () => 'refused',
      ),
    )
    const image = await page.evaluate(`new Promise((resolve) => {
      addEventListener('securitypolicyviolation', (event) => resolve(event.violatedDirective))
      new Image().src = 'http://127.0.0.1:9/a.png'
    })`)
    expect([outcome, image]).toEqual(['refused', 'img-src'])
  })

  test('a failure is open, with its sentence, its bytes and the line that repeats it', async () => {
    const { page } = await open()
    const failure = page.locator('.case.failed', { hasText: 'signatures/hmac-accepted' })
    const text = await failure.textContent()
    const ofSentence = ['MUST', 'first 20 bytes of HMAC-SHA256', 'all 32 bytes']
    for (const part of [...ofSentence, '> POST /api', '< HTTP 200', '--only signatures/hmac-accepted'])
      expect(text).toContain(part)
    expect(await page.locator('.case.passed .body').first().isVisible()).toBe(false)
  })

  test('filters by verdict', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: /failed 2$/ }).click()
    expect(await visible(page)).toEqual(['basic/hostile', 'signatures/hmac-accepted/all-in-one-line'])
    expect(await page.locator('.case.failed').first().locator('.body').isVisible()).toBe(true)
    expect(await page.evaluate(`document.getElementById('cases').getBoundingClientRect().top < innerHeight`)).toBe(true)
    expect(await page.getByRole('status').textContent()).toBe('2 of 12 cases')
    await page.getByRole('button', { name: /blocked 3$/ }).click()
    expect(await visible(page)).toEqual(['tokens/one', 'tokens/three', 'tokens/two'])
    await page.getByRole('button', { name: /blocked 3$/ }).click()
    expect((await visible(page)).length).toBe(12)
  })

  test('filters by requirement, from the picture and from the address', async () => {
    const { page } = await open()
    await page.locator('[data-requirement="tokens/authorize"]').click()
    expect(await visible(page)).toEqual(['tokens/one', 'tokens/three', 'tokens/two'])
    expect(page.url()).toMatch(/#tokens\/authorize$/)
    await page.reload()
    expect(await visible(page)).toEqual(['tokens/one', 'tokens/three', 'tokens/two'])
    await page.locator('[data-requirement="tokens/authorize"]').click()
    expect((await visible(page)).length).toBe(12)
  })

  test('cases that one failure blocks are folded under one line, and a filter unfolds them', async () => {
    const cases = report.cases.map((testCase) =>
      testCase.verdict === 'blocked' ? { ...testCase, blockedBy: 'basic/hostile' } : testCase,
    )
    const { page } = await open()
    await page.setContent(renderHtml({ ...report, cases }))
    const group = page.locator('.group')
    expect(await group.locator('> summary').textContent()).toBe('3 cases blocked by the failure of basic/hostile')
    expect(await group.locator('.case').first().isVisible()).toBe(false)
    await page.getByRole('searchbox').fill('tokens/two')
    expect(await visible(page)).toEqual(['tokens/two'])
    expect(await group.locator('.case:not([hidden])').isVisible()).toBe(true)
    await page.getByRole('searchbox').fill('keys/warned')
    expect(await group.isVisible()).toBe(false)
  })

  test('works by keyboard alone', async () => {
    const { page } = await open()
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').textContent()).toBe('Skip to the cases')
    await page.locator('[data-requirement="signatures/hmac"]').focus()
    await page.keyboard.press('Enter')
    expect(await visible(page)).toEqual(['signatures/accepted', 'signatures/hmac-accepted/all-in-one-line'].reverse())
    await page.keyboard.press('Escape')
    expect(await visible(page)).toHaveLength(12)
    await page.reload()
    await page.keyboard.press('/')
    await page.keyboard.type('keys/warned')
    expect(await visible(page)).toEqual(['keys/warned'])
    await page.locator('.case:not(.finding):not([hidden]) > summary').focus()
    await page.keyboard.press('Enter')
    expect(await page.locator('.case.warned .body').isVisible()).toBe(true)
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  })

  test('every link leads to something on the page, and shows it', async () => {
    const { page } = await open()
    const dead = await page.$$eval('a[href^="#"]', (links) => {
      const isThere = (id: string) =>
        document.getElementById(id) ?? document.querySelector(`[data-requirement="${id}"]`)
      const ids = links.map((link) => decodeURIComponent(link.getAttribute('href')?.slice(1) ?? ''))
      return ids.filter((id) => !isThere(id))
    })
    expect(dead).toEqual([])
    const failure = page.locator('.case.failed', { hasText: 'signatures/hmac-accepted' })
    await failure.getByRole('link', { name: /hmac-accepted.yaml/ }).click()
    const text = page.locator('.source').first()
    expect(await text.getAttribute('open')).not.toBeNull()
    await expect.poll(() => page.locator(':target').textContent()).toBe('  - step: one')
    await page.goBack()
    await page.getByRole('searchbox').fill('nothing at all')
    await page.getByRole('link', { name: 'signatures/hmac-accepted/all-in-one-line' }).first().click()
    await failure.waitFor()
    await failure.getByRole('link', { name: 'signatures/hmac', exact: true }).click()
    await page.locator('tr:target').waitFor()
    expect(await page.locator('tr:target').textContent()).toContain('Must. The MAC is cut, see there.')
    await page.getByRole('searchbox').fill('nothing at all')
    await page.evaluate(`document.querySelector('.case.failed a[href="#requirement/signatures/hmac"]').click()`)
    await page.locator('tr:target').waitFor()
  })

  test('names its maker, the target, the date and the problems at the top, and explains the verdicts that occur', async () => {
    const { page } = await open()
    const top = (await page.locator('header').textContent()) ?? ''
    for (const part of [
      'svc-conformance 0.1.0 against http://127.0.0.1:9111',
      'http://127.0.0.1:9111',
      '2 January 2026, 03:04 UTC',
      'does not conform exit code 1',
      '✗ failed signatures/hmac-accepted/all-in-one-line (signatures/hmac)',
      '✗ failed found/tokens/authorize/pair-is-current',
    ])
      expect(top).toContain(part)
    const items = await page.locator('.legend li').allTextContents()
    expect(items[0]).toBe('✗ failed the server broke a sentence of the document')
    expect(items).toHaveLength(7)
  })

  test('draws a history, with the same in words', async () => {
    const { page } = await open()
    const drawing = page.getByRole('region', { name: 'Calls at the same time, time to the right' })
    expect(await drawing.textContent()).toMatch(
      /├─+1─+┤[\s\S]*1 {2}manager\/auth refresh: accepted \(0\.0 to 4\.2 ms\)/,
    )
  })

  test('shows line ends in every font', async () => {
    const { page } = await open()
    expect(await page.locator('.case.blocked pre i').allTextContents()).toContain('LF')
  })

  test('has landmarks, headings in order, and regions that a keyboard can scroll', async () => {
    const { page } = await open()
    for (const role of ['banner', 'main', 'contentinfo', 'search'] as const)
      expect(await page.getByRole(role).count(), role).toBe(1)
    const levels = await page.$$eval('h1, h2, h3', (all) => all.map((one) => Number(one.tagName.slice(1))))
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([])
    const unreachable = 'pre:not([tabindex="0"][role="region"][aria-label]), pre[aria-label=""]'
    expect(await page.locator(unreachable).count()).toBe(0)
  })

  test('is readable in light and in dark, fits a phone, and has a name for every control', async () => {
    const { page } = await open()
    expect(await obstaclesOn(page)).toEqual([])
  })

  test('its cells are wide enough for a finger on a phone', async () => {
    const { page } = await open()
    const usualSize = page.viewportSize()
    await page.setViewportSize({ width: 360, height: 740 })
    const widths = await page.$$eval('.cell', (cells) => cells.map((cell) => cell.getBoundingClientRect().width))
    expect(Math.min(...widths)).toBeGreaterThanOrEqual(24)
    if (usualSize !== null) await page.setViewportSize(usualSize)
  })

  test('shows everything without script', async () => {
    const { page } = await (await windowFor(browser, at('report.html'), { javaScriptEnabled: false }))()
    expect(await page.locator('.case:not(.finding)').count()).toBe(12)
    expect(await page.locator('.filters').isVisible()).toBe(false)
  })
})
