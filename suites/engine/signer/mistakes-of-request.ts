/** Known mistakes in the request data: line ends, HTTP method and URI. */
import { utf8 } from './bytes.ts'
import { mapText, piece, replace, without } from './data-to-sign.ts'
import { dataMistake, type KnownMistake } from './mistake.ts'

const lineFeeds = 'signatures/request-line-feeds'
const method = 'signatures/request-method'
const uri = 'signatures/request-uri'

export const requestMistakes: readonly KnownMistake[] = [
  dataMistake(
    {
      id: 'data/without-final-newline',
      title: 'The data to sign lacks the line feed after the body',
      requirement: lineFeeds,
      fix: 'End the data with one LF after the body',
      when: 'the data is signed without the line feed after the body',
    },
    (pieces) => (pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : null),
  ),
  dataMistake(
    {
      id: 'data/with-doubled-newline',
      title: 'The data to sign ends with two line feeds, or the body was signed with one that was not sent',
      requirement: lineFeeds,
      fix: 'End the data with exactly one LF after the body as it was sent',
      when: 'the data is signed with two line feeds after the body',
    },
    (pieces) => [...pieces, piece('line-end', '\n')],
  ),
  dataMistake(
    {
      id: 'data/with-crlf',
      title: 'The lines of the data to sign end with CR LF',
      requirement: lineFeeds,
      fix: 'End method, URI and body with LF alone',
      when: 'the lines of the signed data end with CR LF',
    },
    (pieces) => replace(pieces, 'line-end', () => utf8('\r\n')),
  ),
  dataMistake(
    {
      id: 'data/without-line-feeds',
      title: 'Method, URI and body are joined without line feeds',
      requirement: lineFeeds,
      fix: 'End method, URI and body with one LF each',
      when: 'method, URI and body are joined without line feeds',
    },
    (pieces) => pieces.filter(({ origin }) => origin !== 'line-end'),
  ),
  dataMistake(
    {
      id: 'data/with-written-line-feeds',
      title: 'A backslash and an n stand where line feeds belong',
      requirement: lineFeeds,
      fix: 'Use the byte 0x0a; in a shell printf writes it, echo and plain quotes do not',
      when: 'a backslash and an n stand for each line feed',
    },
    (pieces) => replace(pieces, 'line-end', () => utf8('\\n')),
  ),
  dataMistake(
    {
      id: 'data/with-lowercase-method',
      title: 'The HTTP method is signed in lower case',
      requirement: method,
      fix: 'Put the method into the data in upper case',
      when: 'the method is signed in lower case',
    },
    (pieces) => mapText(pieces, 'method', (text) => text.toLowerCase()),
  ),
  dataMistake(
    {
      id: 'data/with-capitalised-method',
      title: 'The HTTP method is signed with one capital letter',
      requirement: method,
      fix: 'Put the method into the data in upper case',
      when: 'the method is signed with one capital letter',
    },
    (pieces) => mapText(pieces, 'method', (text) => text.slice(0, 1) + text.slice(1).toLowerCase()),
  ),
  dataMistake(
    {
      id: 'data/without-method',
      title: 'The line with the HTTP method is left out',
      requirement: method,
      fix: 'Begin the request data with the method and LF',
      when: 'the line with the method is left out',
    },
    (pieces) => without(pieces, 'method'),
  ),
  dataMistake(
    {
      id: 'data/with-get-method',
      title: 'GET is signed instead of the method that was sent',
      requirement: method,
      fix: 'Sign the method of the request, POST',
      when: 'GET is signed instead of POST',
    },
    (pieces) => mapText(pieces, 'method', () => 'GET'),
  ),
  dataMistake(
    {
      id: 'data/without-uri',
      title: 'The line with the URI is left out',
      requirement: uri,
      fix: 'Put the URI and LF after the method',
      when: 'the line with the URI is left out',
    },
    (pieces) => without(pieces, 'uri'),
  ),
  dataMistake(
    {
      id: 'data/with-full-url',
      title: 'The full URL is signed instead of the path',
      requirement: uri,
      fix: 'Sign the URI /api alone, without scheme and host',
      when: 'the full URL is signed instead of the path',
    },
    (pieces, { around }) => (around.url === undefined ? null : mapText(pieces, 'uri', () => around.url ?? '')),
  ),
  dataMistake(
    {
      id: 'data/with-host-and-path',
      title: 'Host and path are signed instead of the path',
      requirement: uri,
      fix: 'Sign the URI /api alone, without the host',
      when: 'host and path are signed instead of the path',
    },
    (pieces, { around }) =>
      around.url === undefined ? null : mapText(pieces, 'uri', () => (around.url ?? '').replace(/^\w+:\/\//, '')),
  ),
  dataMistake(
    {
      id: 'data/with-base-path',
      title: 'The path of the base URL is signed as well',
      requirement: uri,
      fix: 'Sign /api, without what the base URL has before it',
      when: 'the path of the base URL is signed as well',
    },
    (pieces, { around }) => {
      const path = around.url === undefined ? '' : pathOf(around.url)
      return path === '' ? null : mapText(pieces, 'uri', () => path)
    },
  ),
  dataMistake(
    {
      id: 'data/with-query',
      title: 'The query of the URL is signed with the URI',
      requirement: uri,
      fix: 'Sign the URI without the query',
      when: 'the query of the URL is signed with the URI',
    },
    (pieces, { around }) => {
      const query = /\?[^#]*/.exec(around.url ?? '')?.[0]
      return query === undefined ? null : mapText(pieces, 'uri', (text) => (text.includes('?') ? text : text + query))
    },
  ),
  dataMistake(
    {
      id: 'data/without-query',
      title: 'The query is dropped from the signed URI',
      requirement: uri,
      fix: 'Sign the URI exactly as given',
      when: 'the query is dropped from the signed URI',
    },
    (pieces) => mapText(pieces, 'uri', (text) => text.replace(/\?.*$/, '')),
  ),
  dataMistake(
    {
      id: 'data/with-path-without-slash',
      title: 'The URI is signed without its leading slash',
      requirement: uri,
      fix: 'Sign /api with its leading slash',
      when: 'the URI is signed without its leading slash',
    },
    (pieces) => mapText(pieces, 'uri', (text) => text.replace(/^\//, '')),
  ),
  dataMistake(
    {
      id: 'data/with-trailing-slash',
      title: 'The URI is signed with a trailing slash',
      requirement: uri,
      fix: 'Sign /api without a trailing slash',
      when: 'the URI is signed with a trailing slash',
    },
    (pieces) => mapText(pieces, 'uri', (text) => (text.endsWith('/') ? text : `${text}/`)),
  ),
  dataMistake(
    {
      id: 'data/with-root-path',
      title: 'The path / is signed instead of the URI',
      requirement: uri,
      fix: 'Sign the URI /api',
      when: 'the path / is signed instead of /api',
    },
    (pieces) => mapText(pieces, 'uri', () => '/'),
  ),
  dataMistake(
    {
      id: 'data/with-uppercase-uri',
      title: 'The URI is signed in upper case',
      requirement: uri,
      fix: 'Put only the method in upper case, not the URI',
      when: 'the URI is signed in upper case',
    },
    (pieces) => mapText(pieces, 'uri', (text) => text.toUpperCase()),
  ),
]

/** The path of a URL without its query; an empty text if it has no path. */
function pathOf(url: string): string {
  return /^\w+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? ''
}
