/// <reference lib="dom" />
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { loadVectors } from '../engine/language/vectors.ts'
import { chromiumMissing, launchChromium, obstaclesOn, openPage } from '../self/chromium.ts'
import { openFolder } from '../self/temporary.ts'
import { labResult } from './compute.ts'
import { buildLab, serveLab } from './lab-page.ts'

const body = '{"jsonrpc":"2.0","id":0,"method":"solution/listSolutions","params":{}}'
const right = 'svc-hmac-sha256 hmac-key-1;1;1702555410352;q83vEjRWeJCrze8=;CEbcdnZhURk3xA0+RaC+UusqNCQ='
const untruncated =
  'svc-hmac-sha256 hmac-key-1;1;1702555410352;q83vEjRWeJCrze8=;CEbcdnZhURk3xA0+RaC+UusqNCRP4aNC51zy4N7FPaU='

type LabFields = Parameters<typeof labResult>[0]

const unsaid = { otherSecrets: '', method: '', url: '', ownData: '' }
const ofTarget = { uri: '/api', scheme: 'svc-hmac-sha256' }
const fields: LabFields = { request: right, body, bodyForm: 'text', key: 'not-a-secret-0001', ...ofTarget, ...unsaid }

describe('what the page shows', () => {
  test('a right header is valid, and every stage is there', () => {
    const result = labResult(fields)
    expect(result).toMatchObject({ kind: 'checked', diagnosis: { valid: true }, right: { header: right } })
  })

  const ofEc = '-----BEGIN EC KEY-----\nAA==\n-----END EC KEY-----'
  test.each([
    [{ request: '' }, 'Paste an Authorization header, a curl line or a raw request'],
    [
      { request: `curl -H 'Authorization: a' -d "$BODY"`, body: '' },
      'Cannot take the body from the request: it is computed where the call is made, so its value is not in this text; paste it into the field "Body"',
    ],
    [{ request: 'curl http://h/api' }, 'Paste an Authorization header, a curl line or a raw request'],
    [{ key: '' }, 'Give the secret of the key, or its private or public key in PEM'],
    [{ key: ofEc }, 'Cannot use this key: expected a PEM labelled "PRIVATE KEY", got "EC KEY"'],
    [{ body: '***', bodyForm: 'base64' as const }, 'The body is not padded BASE64'],
  ])('%j waits for what is missing', (missing, message) => {
    expect(labResult({ ...fields, ...missing })).toEqual({ kind: 'waiting', message })
  })

  test('the body of a pasted request is used, and a body from a file must be given', () => {
    const curl = `curl -H 'Authorization: ${right}' http://h/api`
    const note = (text: string) => labResult({ ...fields, request: text, body: '' })
    const ofRequest = { diagnosis: { valid: true }, note: 'The body is the one of the pasted request' }
    expect(note(`${curl} -d '${body}'`)).toMatchObject(ofRequest)
    const ofFile = 'The request takes its body from "b.json": paste it into the field "Body"'
    expect(note(`${curl} -d @b.json`)).toMatchObject({ note: ofFile })
  })

  test('text with CR LF and BASE64 reach the same bytes', () => {
    const bytes = (more: Partial<LabFields>) => {
      const result = labResult({ ...fields, ...more })
      return result.kind === 'checked' ? new TextDecoder().decode(result.input.body) : result.message
    }
    expect(bytes({ body: 'a\nb', bodyForm: 'crlf' })).toBe('a\r\nb')
    expect(bytes({ body: 'YQ0K\nYg==', bodyForm: 'base64' })).toBe('a\r\nb')
  })
})

describe.skipIf(chromiumMissing !== '')(`in Chromium${chromiumMissing}`, () => {
  const { at, write } = openFolder()
  const file = at('lab.html')
  let browser: Browser
  let page: Page
  const requests: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    write('lab.html', await buildLab())
    browser = await launchChromium()
    page = await openPage(browser)
    page.on('request', (request) => requests.push(request.url()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    await page.goto(pathToFileURL(file).href)
  })

  afterAll(() => browser?.close())

  const says = (text: string) => page.locator('#verdict', { hasText: text }).waitFor()

  test('a mistake is named while one types, by keyboard alone', async () => {
    await page.getByRole('button', { name: 'Clear all fields' }).click()
    await says('Paste an Authorization header')
    await page.getByLabel('Authorization header, curl line or raw request').focus()
    await page.keyboard.insertText(untruncated)
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(body)
    // Over the choice of the form of the body.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText('not-a-secret-0001')
    await says('Not valid at length; the mistake is found')
    const diagnosis = await page.getByRole('region', { name: 'Diagnosis' }).textContent()
    expect(diagnosis).toContain('All 32 bytes of the MAC are sent')
    expect(diagnosis).toContain('signatures/hmac-length')
    expect(await page.locator('mark').textContent()).toBe('0846dc767661511937c40d3e45a0be52eb2a3424')
    await page.getByLabel('Authorization header, curl line or raw request').fill(right)
    await says('Valid: every stage is right')
  })

  test('every byte of the data is coloured by its origin and named in a table', async () => {
    const pieces = await page.locator('pre .piece').evaluateAll((spans) =>
      spans.map((span) => ({
        origin: span.getAttribute('title'),
        text: span.textContent,
        colour: getComputedStyle(span).backgroundColor,
      })),
    )
    const head = ['timestamp', 'semicolon', 'nonce', 'semicolon']
    const lines = ['method', 'line feed', 'URI', 'line feed', 'body', 'line feed']
    expect(pieces.map(({ origin }) => origin)).toEqual([...head, ...lines])
    expect(pieces[8]?.text).toBe(body)
    expect(new Set(pieces.map(({ colour }) => colour)).size).toBe(7)
    await page.getByText('Byte by byte').click()
    expect(await page.getByRole('row', { name: /^method 4 504f5354/ }).count()).toBe(1)
  })

  test('a vector can be loaded, and is judged as it should be', async () => {
    const { valid, invalid } = loadVectors(packageRoot)
    for (const [vector, verdict] of [
      [valid.at(-1), 'Valid: every stage is right'],
      [invalid.find((one) => one['fails-at'] === 'length'), 'Not valid at length'],
    ] as const) {
      await page.getByLabel('Load a vector').selectOption(vector?.id ?? '')
      await says(verdict)
    }
  })

  test('the example shows a mistake that is found, and another secret leads to the own data', async () => {
    await page.getByRole('button', { name: 'Clear all fields' }).click()
    await page.getByRole('button', { name: 'Show an example' }).click()
    await says('Not valid at length; the mistake is found')
    await page.getByLabel('Secret, or PEM').fill('another-secret')
    const unexplained = /None of \d{3} known mistakes reproduces this: the secret, the body or the data differ/
    await page.getByText(unexplained).waitFor()
    await page.getByRole('button', { name: 'Go to the field' }).first().click()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('ownData')
    expect(await page.getByLabel('Your own data to sign').isVisible()).toBe(true)
  })

  test('what is pasted stays text', async () => {
    const hostile = `svc-hmac-sha256 <img src=x onerror=alert(1)>;1;1;<b>;x`
    await page.getByLabel('Authorization header, curl line or raw request').fill(hostile)
    await says('Not valid at')
    expect(await page.locator('#results img, #results b').count()).toBe(0)
  })

  test('the policy names no network source, and the page loaded nothing but itself', async () => {
    const policy = (await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content')) ?? ''
    const nothing =
      "default-src 'none'; script-src 'sha256-…'; style-src 'sha256-…'; base-uri 'none'; form-action 'none'"
    expect(policy.replaceAll(/sha256-[^ ']+/g, 'sha256-…')).toBe(`${nothing}; img-src data:`)
    expect(requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([])
    expect(requests.filter((url) => url.startsWith('file:'))).toEqual([pathToFileURL(file).href])
    expect(complaints).toEqual([])
    const tried = await page.evaluate(() =>
      fetch('http://127.0.0.1:1/').then(
        () => 'sent',
        (error) => String(error),
      ),
    )
    expect(tried).toContain('Failed to fetch')
    expect(complaints.join()).toContain('Content Security Policy')
  })

  test('the result is announced', async () => {
    expect(await page.getByRole('status').getAttribute('aria-live')).toBe('polite')
  })

  test('is readable in light and in dark, fits a phone, and has a name for every control', async () => {
    await page.getByLabel('Load a vector').selectOption('vectors/invalid/hmac-untruncated')
    expect(await obstaclesOn(page)).toEqual([])
  })

  test('served, it is the same page and no other', async () => {
    const server = await serveLab(await buildLab(), 0)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    try {
      const answer = await page.goto(url)
      expect(answer?.status()).toBe(200)
      await says('Paste an Authorization header')
      expect((await fetch(`${url}other`)).status).toBe(404)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
