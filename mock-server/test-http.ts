import { request } from 'node:http'

/** For tests: one HTTP request on its own connection. */
export function httpCall(
  url: string,
  options: { method?: string; headers?: { [name: string]: string }; body?: string | Buffer; from?: string } = {},
): Promise<{
  status: number
  headers: { [name: string]: string | string[] | undefined }
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  json: any
}> {
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: options.method ?? 'POST',
        headers: options.headers ?? {},
        agent: false,
        ...(options.from ? { localAddress: options.from } : {}),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const json = String(response.headers['content-type']).startsWith('application/json')
            ? JSON.parse(text)
            : undefined
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
        })
      },
    )
    call.on('error', reject)
    call.end(options.body ?? '')
  })
}
