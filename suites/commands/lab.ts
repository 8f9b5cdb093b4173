import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { portError, usageError } from '../engine/errors.ts'
import { line, lines } from '../engine/printable.ts'
import { labPage, serveLab } from '../lab/lab-page.ts'
import { replaceFile } from '../run/files.ts'
import { portNumber } from '../run/values.ts'
import { writeOut } from './console.ts'

interface LabFlags {
  out?: string
  port?: string
}

/** `lab`: the signature lab as one HTML file, written or served. */
export function registerLab(program: Command): void {
  program
    .command('lab')
    .description(
      'open the signature lab: one HTML page that names the mistake in a signature; nothing leaves the browser',
    )
    .option('--out <file>', 'write the page to a file')
    .option('--port <port>', 'serve the page on 127.0.0.1 (any free port without this and without --out)')
    .action(async (flags: LabFlags) => {
      if (flags.out !== undefined && flags.port !== undefined) throw usageError('Give "--out" or "--port", not both')
      const port = portNumber('--port', flags.port)
      const page = await labPage()
      if (flags.out === undefined) return serveUntilStopped(page, port)
      replaceFile(flags.out, page, 'the page')
      writeOut(lines([line`${flags.out}`]))
    })
}

async function serveUntilStopped(page: string, port: number): Promise<void> {
  const server = await serveLab(page, port).catch((cause: unknown) => {
    throw portError(port, cause)
  })
  writeOut(lines([line`http://127.0.0.1:${(server.address() as AddressInfo).port}/`]))
}
