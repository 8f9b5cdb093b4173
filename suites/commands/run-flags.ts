import type { Command } from 'commander'

/** Collects the values of a flag that can be given several times. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value]

/** The heading of the flags of commands that use the bundled server when there is no URL. */
export const bundledByDefault = 'Target (without --url and SVC_URL: the bundled server)'

const afterHelp = `
Exit codes: 0 conforms, or only known failures, or some musts are not testable here; 1 a failure, a
blocked case, or a stale baseline entry; 2 wrong usage; 3 the target cannot be used; 130
interrupted. The report goes to stdout, the plan and the progress to stderr.

  npx svc-conformance run                                       the bundled server
  npx svc-conformance run --url http://127.0.0.1:8080 --plan    what a run would do there
  npx svc-conformance run --url http://127.0.0.1:8080 --disposable --report html=report.html`

/** Adds every flag of `run`; readRunOptions reads them. */
export function addRunFlags(command: Command): Command {
  return addTargetFlags(command.argument('[url]', 'the same as --url'), bundledByDefault)
    .option('--plan', 'print what the run would do, and stop')
    .option('--concurrency <number>', 'maximum number of simultaneous calls')
    .option('--wait <seconds>', 'the longest wait: for the target to come up, or for a lifetime to pass')
    .option('--timeout <seconds>', 'end the whole run after this time')
    .optionsGroup('What to run')
    .option('--only <id>', 'run only the cases of this id prefix or requirement; repeatable', collect)
    .option('--skip <id=reason>', 'leave out an id, with a reason; repeatable', collect)
    .option('--failed <report>', 'run only what failed or was blocked in this JSON report')
    .option('--watch', 'run the failed cases again whenever the target comes back after a restart')
    .option('--bail <number>', 'stop after this many failures')
    .option('--fixtures <folder>', 'add your own scenarios')
    .option('--seed <number>', 'use the order of an earlier run')
    .option('--explore', 'let the model of the document make further calls; on with --disposable')
    .option('--no-explore', 'run the cases only; the model still judges their calls at a URL')
    .option('--explore-calls <number>', 'maximum number of these calls; 16000 on the loopback, 1000 elsewhere')
    .option('--shard <i/n>', 'run every n-th scenario, starting with the i-th; each shard needs its own instance')
    .optionsGroup('How to judge')
    .option('--known <file>', 'baseline of known failures')
    .option('--update-known', 'rewrite the baseline; reasons are kept')
    .option('--set <version>', 'the requirement set that decides the verdict')
    .option('--strict', 'fail the run for warnings and for musts that are not testable')
    .optionsGroup('What to print')
    .option('--report <format[=file]>', 'text, json, junit, html, markdown, ctrf or badge; repeatable', collect)
    .option('--observations', 'print the observations of each open question')
    .option('--trace', 'print whole exchanges, SECRETS INCLUDED')
    .addHelpText('after', afterHelp)
}

/** Adds the flags that name a server, how it is called and what may be done there; readTargetOptions reads them. */
export function addTargetFlags(command: Command, heading = 'Target'): Command {
  return addServerFlags(command, heading, String)
    .optionsGroup('What it may do there')
    .option('--allow <classes>', 'what may be created or filled: sessions, keys, limits; joined by commas')
    .option('--disposable', 'this instance is fresh and may be filled: allows all three')
    .option('--rate <number>', 'maximum number of calls a second')
}

/**
 * Adds the flags that name a server and its root key.
 *
 * @param parse combines a value with the earlier ones
 * @param url what `--url` gives
 */
export function addServerFlags<T>(
  command: Command,
  heading: string,
  parse: (value: string, earlier: T) => T,
  url = 'base URL (SVC_URL)',
): Command {
  return command
    .optionsGroup(heading)
    .option('--url <url>', `${url}; calls go to {url}/api`, parse)
    .option('--key-id <id>', 'API key id (SVC_KEY_ID)', parse)
    .option('--key-secret <secret>', 'API key secret; better: SVC_KEY_SECRET, which no process list shows', parse)
    .option('--key-secret-file <file>', 'read the secret from a file', parse)
    .option('--private-key <file>', 'ED25519 private key (PEM) of a key with a public key', parse)
    .option('--target <file>', 'target file, see "init"', parse)
    .option('--scheme <word>', 'scheme word of signatures', parse)
    .option('--token-prefix <word>', 'word before an access token; "" for no word', parse)
}
