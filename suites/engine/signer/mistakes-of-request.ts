/** Known mistakes in the request data: line ends, HTTP method and URI. */
import { utf8 } from './bytes.ts'
import { mapText, piece, replace, without } from './data-to-sign.ts'
import { type KnownMistake, ofData } from './mistake.ts'

const lineFeeds = 'signatures/request-line-feeds'
const method = 'signatures/request-method'
const uri = 'signatures/request-uri'

export const requestMistakes: readonly KnownMistake[] = [
  ofData('without-final-newline', lineFeeds, 'the data to sign lacks the line feed after the body', (pieces) =>
    pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : null,
  ),
  ofData(
    'with-doubled-newline',
    lineFeeds,
    'the data to sign ends with two line feeds, or the body is signed with one that is not sent',
    (pieces) => [...pieces, piece('line-end', '\n')],
  ),
  ofData('with-crlf', lineFeeds, 'the lines of the data to sign end with CR LF', (pieces) =>
    replace(pieces, 'line-end', () => utf8('\r\n')),
  ),
  ofData('without-line-feeds', lineFeeds, 'method, URI and body are joined without line feeds', (pieces) =>
    pieces.filter(({ origin }) => origin !== 'line-end'),
  ),
  {
    ...ofData('with-written-line-feeds', lineFeeds, 'a backslash and an n stand where line feeds belong', (pieces) =>
      replace(pieces, 'line-end', () => utf8('\\n')),
    ),
    fix: 'Use the byte 0x0a; in a shell printf writes it, echo and plain quotes do not',
  },
  ofMethod('with-lowercase-method', 'the HTTP method is signed in lower case', (text) => text.toLowerCase()),
  ofMethod(
    'with-capitalised-method',
    'the HTTP method is signed with one capital letter',
    (text) => text.slice(0, 1) + text.slice(1).toLowerCase(),
  ),
  ofData('without-method', method, 'the line with the HTTP method is left out', (pieces) => without(pieces, 'method')),
  ofMethod('with-get-method', 'GET is signed instead of the method that is sent', () => 'GET'),
  ofData('without-uri', uri, 'the line with the URI is left out', (pieces) => without(pieces, 'uri')),
  ofUrl('with-full-url', 'the full URL is signed instead of the path', (url) => url),
  ofUrl('with-host-and-path', 'host and path are signed instead of the path', (url) => url.replace(/^\w+:\/\//, '')),
  ofUrl('with-base-path', 'the path of the base URL is signed as well', (url) => pathOf(url) || null),
  ofData('with-query', uri, 'the query of the URL is signed with the URI', (pieces, { url = '' }) => {
    const query = /\?[^#]*/.exec(url)?.[0]
    return query === undefined ? null : mapText(pieces, 'uri', (text) => (text.includes('?') ? text : text + query))
  }),
  {
    ...ofUri('without-query', 'the query is dropped from the signed URI', (text) => text.replace(/\?.*$/, '')),
    fix: 'Sign the URI exactly as given',
  },
  ofUri('with-path-without-slash', 'the URI is signed without its leading slash', (text) => text.replace(/^\//, '')),
  ofUri('with-trailing-slash', 'the URI is signed with a trailing slash', (text) =>
    text.endsWith('/') ? text : `${text}/`,
  ),
  ofUri('with-root-path', 'the path / is signed instead of the URI', () => '/'),
  ofUri('with-uppercase-uri', 'the URI is signed in upper case', (text) => text.toUpperCase()),
]

function ofMethod(word: string, when: string, write: (text: string) => string): KnownMistake {
  return ofData(word, method, when, (pieces) => mapText(pieces, 'method', write))
}

/** A mistake in the signed URI. */
export function ofUri(word: string, when: string, write: (text: string) => string): KnownMistake {
  return ofData(word, uri, when, (pieces) => mapText(pieces, 'uri', write))
}

/** A part of the called URL is signed as the URI; null from `part`: this URL has no such part. */
export function ofUrl(word: string, when: string, part: (url: string) => string | null): KnownMistake {
  return ofData(word, uri, when, (pieces, { url }) => {
    const text = url === undefined ? null : part(url)
    return text === null ? null : mapText(pieces, 'uri', () => text)
  })
}

/** The path of a URL without its query; an empty text if it has no path. */
function pathOf(url: string): string {
  return /^\w+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? ''
}
