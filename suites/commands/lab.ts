import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { portError, usageError } from '../engine/errors.ts'
import { line, lines } from '../engine/printable.ts'
import { labPage, serveLab } from '../lab/lab-page.ts'
import { replaceFile } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { writeOut } from './console.ts'

const labFlags = {
  out: flag.value('--out <file>', 'write the page to a file'),
  port: flag.value(
    '--port <port>',
    'serve the page on 127.0.0.1 (any free port without this and without --out)',
    flag.portNumber,
  ),
}

/** `lab`: the signature lab as one HTML file, written or served. */
export function registerLab(program: Command): void {
  const command = program
    .command('lab')
    .description(
      'open the signature lab: one HTML page that names the mistake in a signature; nothing leaves the browser',
    )
    .action(async (typed: flag.Typed<typeof labFlags>) => {
      const { out, port } = flag.read(labFlags, typed)
      if (out !== null && port !== null) throw usageError('Give "--out" or "--port", not both')
      const page = await labPage()
      if (out === null) return serveUntilStopped(page, port ?? 0)
      replaceFile(out, page, 'the page')
      writeOut(lines([line`${out}`]))
    })
  flag.addTo(command, labFlags)
}

async function serveUntilStopped(page: string, port: number): Promise<void> {
  const server = await serveLab(page, port).catch((cause: unknown) => {
    throw portError(port, cause)
  })
  writeOut(lines([line`http://127.0.0.1:${(server.address() as AddressInfo).port}/`]))
}
