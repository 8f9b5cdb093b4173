import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { utf8, visibleLines } from '../engine/signer/bytes.ts'
import { curlLine } from './signature.ts'

const right = 'svc-hmac-sha256 hmac-key-1;1;1702555410352;q83vEjRWeJCrze8=;CEbcdnZhURk3xA0+RaC+UusqNCQ='

describe('visible bytes', () => {
  test('line ends, tabs and what is not UTF-8', () => {
    expect(visibleLines(utf8('a\r\n\tb\n'))).toEqual(['a␍␊', '␉b␊'])
    expect(visibleLines(utf8('a\n\n'))).toEqual(['a␊', '␊'])
    expect(visibleLines('a\nb')).toEqual(['a␊', 'b'])
    expect(visibleLines(Uint8Array.of(0x61, 0xff, 0x1b))).toEqual(['a\\xff\\x1b'])
  })

  const noShell = process.platform === 'win32' ? ' (NOT RUN: needs sh)' : ''
  test.skipIf(noShell !== '')(`a shell reads the curl line with the right words${noShell}`, () => {
    const echo = (text: Uint8Array) =>
      curlLine(`http://h/it's`, 'POST', right, text).replace(/^curl|(?<=\| )curl/, 'printf %s\\\\n')
    const { stdout } = spawnSync('sh', ['-c', echo(utf8(`{"a":"it's $HOME \\n"}`))])
    expect(stdout.toString().split('\n').slice(-3)).toEqual(['--data-raw', `{"a":"it's $HOME \\n"}`, ''])
    expect(curlLine('u', 'POST', right, Uint8Array.of(0, 255))).toMatch(
      /^printf %s AP8= \| openssl base64 -d -A \| curl .* --data-binary @-$/,
    )
  })
})
