import type { AddressInfo } from 'node:net'
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
    flag.number.port,
  ),
}

export const command: flag.Command<typeof labFlags> = {
  about: 'open the signature lab: one HTML page that names the mistake in a signature; nothing leaves the browser',
  flags: labFlags,
  async run(typed) {
    const { out, port } = flag.read(labFlags, typed)
    if (out !== null && port !== null) throw usageError('Give "--out" or "--port", not both')
    const page = await labPage()
    if (out !== null) {
      replaceFile(out, page, 'the page')
      return writeOut(lines([line`${out}`]))
    }
    const server = await serveLab(page, port ?? 0).catch((cause: unknown) => {
      throw portError(port ?? 0, cause)
    })
    writeOut(lines([line`http://127.0.0.1:${(server.address() as AddressInfo).port}/`]))
  },
}
