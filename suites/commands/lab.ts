import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { line, lines } from '../engine/printable.ts'
import { labPage, serveLab } from '../lab/lab-page.ts'
import { fileProblem } from '../run/options/inputs.ts'
import { portNumber } from '../run/options/values.ts'
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
      if (flags.out !== undefined && flags.port !== undefined) {
        throw usageError('Give "--out" or "--port", not both')
      }
      const port = portNumber('--port', flags.port)
      const page = await labPage()
      if (flags.out === undefined) await serveUntilStopped(page, port)
      else writeLab(flags.out, page)
    })
}

function writeLab(file: string, page: string): void {
  try {
    writeFileSync(file, page)
  } catch (cause) {
    throw usageError(`Cannot write "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
  writeOut(lines([line`${file}`]))
}

async function serveUntilStopped(page: string, port: number): Promise<void> {
  try {
    const server = await serveLab(page, port)
    writeOut(lines([line`http://127.0.0.1:${(server.address() as AddressInfo).port}/`]))
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const reason = code === 'EADDRINUSE' ? 'the port is taken, choose another one' : String(code)
    throw usageError(`Cannot listen on "127.0.0.1:${port}": ${reason}`, { cause })
  }
}
