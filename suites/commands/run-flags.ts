import type { Command } from 'commander'

/** Collects the values of a flag that can be given several times. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value]

/** The heading of the flags of commands that use the bundled server when there is no URL. */
export const bundledByDefault = 'Target (without --url and SVC_URL: the bundled server)'

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
