import type { Command } from 'commander'

export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value]

const afterHelp = `
Exit codes: 0 conforms, or known failures only, or musts that are not testable here; 1 a failure, a
case that is blocked, or a stale baseline entry; 2 wrong usage; 3 the target cannot be used; 130
interrupted. The report goes to stdout, the plan and the progress to stderr.

  npx svc-conformance run                                       the bundled server
  npx svc-conformance run --url http://127.0.0.1:8080 --plan    what a run would do there
  npx svc-conformance run --url http://127.0.0.1:8080 --disposable --report html=report.html`

/** Adds every flag of `run`; readRunOptions reads them. */
export function addRunFlags(command: Command): Command {
  return command
    .argument('[url]', 'the same as --url')
    .optionsGroup('Target (without --url: the bundled server)')
    .option('--url <url>', 'base URL; calls go to {url}/api')
    .option('--key-id <id>', 'API key id (SVC_KEY_ID)')
    .option('--key-secret <secret>', 'API key secret; better: SVC_KEY_SECRET, which no process list shows')
    .option('--key-secret-file <file>', 'read the secret from a file')
    .option('--private-key <file>', 'ED25519 private key (PEM) of a key with a public key')
    .option('--target <file>', 'target file, see "init"')
    .option('--scheme <word>', 'scheme word of signatures')
    .option('--token-prefix <word>', 'word before an access token; "" for none')
    .optionsGroup('What it may do there')
    .option('--allow <classes>', 'sessions, keys, limits; joined by commas')
    .option('--disposable', 'this instance is fresh and mine to fill: allows all three')
    .option('--plan', 'print what the run would do, and stop')
    .option('--rate <number>', 'calls a second at most')
    .option('--concurrency <number>', 'calls under way at once, at most')
    .option('--wait <seconds>', 'be patient so long: for the target to come up, and for a lifetime to pass')
    .option('--timeout <seconds>', 'end the whole run after this time')
    .optionsGroup('What to ask')
    .option('--only <id>', 'an id prefix or a requirement id; repeatable', collect)
    .option('--skip <id=reason>', 'leave out, with a reason; repeatable', collect)
    .option('--failed <report>', 'only what failed or was blocked in this JSON report')
    .option('--watch', 'run again, with what failed, whenever the target comes back after a restart')
    .option('--bail <number>', 'stop after so many failures')
    .option('--fixtures <folder>', 'scenarios of your own, asked beside ours')
    .option('--seed <number>', 'the order of an earlier run')
    .option('--explore', 'let the model of the document ask what no case asks; on with --disposable')
    .option('--no-explore', 'cases only')
    .option('--explore-calls <number>', 'calls of the model at most; 4000 on the loopback, 1000 elsewhere')
    .option('--shard <i/n>', 'every n-th scenario, from the i-th on; each shard needs an instance of its own')
    .optionsGroup('How to judge')
    .option('--known <file>', 'baseline of known failures')
    .option('--update-known', 'write the baseline anew; reasons are kept')
    .option('--set <version>', 'the requirement set that decides the verdict')
    .option('--strict', 'warnings and musts that are not testable fail the run')
    .optionsGroup('What to print')
    .option('--report <format[=file]>', 'text, json, junit, html, markdown, ctrf or badge; repeatable', collect)
    .option('--observations', 'what was observed of each open question')
    .option('--trace', 'print whole exchanges, SECRETS INCLUDED')
    .addHelpText('after', afterHelp)
}

/** Adds the flags that name a server and how it is called; readTargetOptions reads them. */
export function addTargetFlags(command: Command): Command {
  return command
    .optionsGroup('Target')
    .option('--url <url>', 'base URL; calls go to {url}/api')
    .option('--key-id <id>', 'API key id (SVC_KEY_ID)')
    .option('--key-secret <secret>', 'API key secret; better: SVC_KEY_SECRET, which no process list shows')
    .option('--key-secret-file <file>', 'read the secret from a file')
    .option('--private-key <file>', 'ED25519 private key (PEM) of a key with a public key')
    .option('--target <file>', 'target file, see "init"')
    .option('--scheme <word>', 'scheme word of signatures')
    .option('--token-prefix <word>', 'word before an access token; "" for none')
    .optionsGroup('What it may do there')
    .option('--allow <classes>', 'sessions, keys, limits; joined by commas')
    .option('--disposable', 'this instance is fresh and mine to fill: allows all three')
    .option('--rate <number>', 'calls a second at most')
}
