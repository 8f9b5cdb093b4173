/**
 * The file that `init` writes: every key of the target file, explained, with all but the URL commented out. It is one text, and so one function.
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
