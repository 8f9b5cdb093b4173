/**
 * What `init` writes: every key of the target file, explained, with all but the URL commented out.
 *
 * @param schema where an editor finds the schema of target files
 */
export function targetFileTemplate(url: string, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
# How svc-conformance reaches your server, and what it may do there. Every key is optional.
# Check it before the first request: npx svc-conformance run --target THIS_FILE --plan

# Calls go to {url}/api.
url: ${url}

# The key that the run uses. Better than writing it here: SVC_KEY_ID and SVC_KEY_SECRET in the environment.
# root: { id: "…", secret: "…" }
# root: { id: "…", privateKeyFile: key.pem }

# What a run may do to the server. Without this, nothing that lasts.
#   sessions  takes tokens, which may push out other sessions of the same user (at most 16)
#   keys      creates API keys (at most 10, and the document shows no way to delete one)
#   limits    fills these limits on purpose
# allow: [sessions, keys]

# Keep the test keys for the next run, so that a lasting server does not run out of keys. The file contains secrets.
# testKeys: .svc-test-keys.json

# A method that deletes a key, to clean up after the run. $id is the id of the key.
# cleanup: { method: manager/deleteApiKey, params: { id: $id } }

# Names that a deployment may have of its own.
# scheme: svc-hmac-sha256
# tokenPrefix: Bearer
# signedUri: /api
# scopeNames: { apikey: apiKey }

# Methods of your server that the document does not show; keep the lines that fit.
# probes:
# One harmless call per API area, so that its scope can be shown to open it; "scope" is what it needs beside its area.
#   context: { method: context/listContexts, params: {} }
#   thread: { method: thread/listThreads, params: {} }
#   store: { method: store/listStores, params: {} }
#   inbox: { method: inbox/listInboxes, params: {}, scope: ["solution:*"] }
#   stream: { method: stream/listStreams, params: {} }
# A call that concerns one solution, for the scope solution:ID. $solution is its id.
#   solution-context: { method: context/listContexts, params: { solution: $solution } }
# What disables a key, so that a disabled key can be shown to be refused. $id is the id of the key.
#   disable: { method: manager/updateApiKey, params: { id: $id, enabled: false } }
# API areas that your server does not have, of context, thread, store, inbox and stream: what needs their methods does not apply.
# absent: []
# Two solution ids, for the scope solution:ID.
# solutions: ["first id", "second id"]

# Addresses: a second local one to call from, and ours as the server sees it.
# secondAddress: 127.0.0.2
# clientAddress: 127.0.0.1

# Gentleness: the longest wait for one answer, calls a second at most, and how many may be under way at once.
# requestTimeoutMs: 10000
# rate: 20
# concurrency: 4
# An answer longer than this is not read; its case is blocked.
# maxAnswerBytes: 4194304

# Sent with every call. Authorization, Content-Type, Content-Length and Host are not for here: cases send their own.
# headers: { x-tenant: "…" }
# What to trust, and a client certificate. HTTPS_PROXY and NO_PROXY in the environment are honoured.
# tls: { ca: ca.pem, cert: client.pem, key: client-key.pem, insecure: false }
`
}
