import { createHash } from 'node:crypto'

export const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest()
export const base64 = (part: Uint8Array) => Buffer.from(part).toString('base64')

/** One character per byte, so that bytes can be changed as text. */
export const text = (data: Uint8Array) => Buffer.from(data).toString('latin1')
export const bytes = (latin1: string) => Buffer.from(latin1, 'latin1')
