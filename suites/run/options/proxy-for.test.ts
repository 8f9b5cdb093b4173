import { expect, test } from 'vitest'
import { proxyFor } from './proxy-for.ts'

const HTTPS_PROXY = 'http://proxy.example:3128'

test.each([
  ['https://a.example', { HTTPS_PROXY }, HTTPS_PROXY],
  ['https://a.example', { https_proxy: HTTPS_PROXY }, HTTPS_PROXY],
  ['https://a.example', { HTTPS_PROXY: 'proxy.example:3128' }, HTTPS_PROXY],
  ['http://a.example', { HTTPS_PROXY }, null],
  ['http://a.example', { HTTP_PROXY: HTTPS_PROXY }, HTTPS_PROXY],
  ['https://127.0.0.1:8443', { HTTPS_PROXY }, null],
  ['https://localhost', { HTTPS_PROXY }, null],
  ['https://a.example', { HTTPS_PROXY, NO_PROXY: '*' }, null],
  ['https://a.example', { HTTPS_PROXY, NO_PROXY: 'b.example, a.example' }, null],
  ['https://deep.a.example', { HTTPS_PROXY, no_proxy: '.a.example' }, null],
  ['https://deep.a.example', { HTTPS_PROXY, NO_PROXY: '*.a.example' }, null],
  ['https://nota.example', { HTTPS_PROXY, NO_PROXY: 'a.example' }, HTTPS_PROXY],
  ['https://a.example:8443', { HTTPS_PROXY, NO_PROXY: 'a.example:8443' }, null],
  ['https://a.example:8443', { HTTPS_PROXY, NO_PROXY: 'a.example:443' }, HTTPS_PROXY],
  ['https://a.example', {}, null],
  ['https://a.example', { HTTPS_PROXY: '' }, null],
])('%s with %j goes through %s', (url, env, proxy) => {
  expect(proxyFor(url, env)).toBe(proxy)
})

test('a proxy that is no URL', () => {
  expect(() => proxyFor('https://a.example', { HTTPS_PROXY: 'socks5://x' })).toThrow(
    'Cannot use the proxy of HTTPS_PROXY: expected a URL such as "http://proxy.example:3128"',
  )
})
