import { statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { line, lines } from '../engine/printable.ts'
import { fileProblem } from '../run/files.ts'
import { baseUrl } from '../run/values.ts'
import { writeOut } from './console.ts'

/** `init [FILE]`: writes a commented target file. */
export function registerInit(program: Command): void {
  program
    .command('init')
    .description('write a commented target file')
    .argument('[file]', 'file to write', 'svc-target.yaml')
    .option('--url <url>', 'base URL of the server', 'https://service.example')
    .option('--force', 'overwrite the file')
    .action((file: string, flags: { url: string; force?: boolean }) => {
      writeTargetFile(file, targetFileTemplate(baseUrl(flags.url), schemaFor(file)), flags.force === true)
      writeOut(lines([line`Wrote ${file}; next: npx svc-conformance run --target ${file} --plan`]))
    })
}

/** The path of the schema for editors, relative to the file: in the project's node_modules, or where this package is installed. */
function schemaFor(file: string): string {
  const schema = join(packageRoot, 'spec', 'schemas', 'target.schema.json')
  const [project = ''] = packageRoot.split(`${sep}node_modules${sep}`)
  const folder = dirname(resolve(file))
  const isInProject = project !== packageRoot && (folder === project || folder.startsWith(project + sep))
  return isInProject ? relative(folder, schema).replaceAll(sep, '/') : pathToFileURL(schema).href
}

function writeTargetFile(file: string, text: string, force: boolean): void {
  try {
    // A secret may be added to it.
    writeFileSync(file, text, { flag: force ? 'w' : 'wx', mode: 0o600 })
  } catch (cause) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw usageError(
        `Cannot write "${file}": it is a folder; name a file in it, such as "${join(file, 'svc-target.yaml')}"`,
        { cause },
      )
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw usageError(`Cannot write "${file}": it exists; name another file, or overwrite it with "--force"`)
    throw usageError(`Cannot write "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
}

/**
 * The file that `init` writes: every key of the target file, explained, with all but the URL commented out.
 *
 * @param schema where an editor finds the schema of target files
 */
function targetFileTemplate(url: string, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
# How svc-conformance reaches your server, and what it may do there. Every key is optional.
# Check it before the first request: npx svc-conformance run --target THIS_FILE --plan

# Calls go to {url}/api.
url: ${url}

# The key that the run uses. Better than writing it here: SVC_KEY_ID and SVC_KEY_SECRET in the environment.
# root: { id: "…", secret: "…" }
# root: { id: "…", privateKeyFile: key.pem }

# What a run may do to the server. Without this, it creates nothing that lasts.
#   sessions  requests tokens, which may remove other sessions of the same user (at most 16)
#   keys      creates API keys (at most 10, and the document shows no way to delete one)
#   limits    fills these limits
# allow: [sessions, keys]

# Keep the test keys for the next run, so that a lasting server does not run out of keys. The file contains secrets.
# testKeys: .svc-test-keys.json

# A method that deletes a key, to clean up after the run. $id is the id of the key.
# cleanup: { method: manager/deleteApiKey, params: { id: $id } }

# Names that differ between deployments.
# scheme: svc-hmac-sha256
# tokenPrefix: Bearer
# signedUri: /api
# scopeNames: { apikey: apiKey }

# Methods of your server that the document does not show; keep the lines that fit.
# probes:
# One harmless call for each API area, to show that its scope opens it; "scope" is what the call needs besides its area.
#   context: { method: context/listContexts, params: {} }
#   thread: { method: thread/listThreads, params: {} }
#   store: { method: store/listStores, params: {} }
#   inbox: { method: inbox/listInboxes, params: {}, scope: ["solution:*"] }
#   stream: { method: stream/listStreams, params: {} }
# A call that concerns one solution, for the scope solution:ID. $solution is its id.
#   solution-context: { method: context/listContexts, params: { solution: $solution } }
# A call that disables a key, to show that a disabled key is refused. $id is the id of the key.
#   disable: { method: manager/updateApiKey, params: { id: $id, enabled: false } }
# API areas that your server does not have, of context, thread, store, inbox and stream. Their cases do not apply then.
# absent: []
# Two solution ids, for the scope solution:ID.
# solutions: ["first id", "second id"]

# Addresses: a second local address to call from, and our address as the server sees it.
# secondAddress: 127.0.0.2
# clientAddress: 127.0.0.1

# Limits: the longest wait for one answer, the calls a second, and the calls under way at once.
# requestTimeoutMs: 10000
# rate: 20
# concurrency: 4
# An answer longer than this is not read; its case is blocked.
# maxAnswerBytes: 4194304

# Headers of every call. Leave out Authorization, Content-Type, Content-Length and Host: cases set them.
# headers: { x-tenant: "…" }
# Certificates to trust, and a client certificate. HTTPS_PROXY and NO_PROXY in the environment are honoured.
# tls: { ca: ca.pem, cert: client.pem, key: client-key.pem, insecure: false }
`
}
