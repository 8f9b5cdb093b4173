import { Agent, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createProxyServer } from 'httpxy'

/**
 * The reference of `watch` in the benchmark, a separate process: the same library passes every request on and nothing else. It prints its
 * port. Argument: the URL of the server.
 */
const proxy = createProxyServer({ target: process.argv[2] ?? '', agent: new Agent({ keepAlive: true }) })
const server = createServer((request, response) => void proxy.web(request, response))
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
