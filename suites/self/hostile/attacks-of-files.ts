import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../engine/language/package-root.ts'
import { type Attack, type Attacks, endingWith, type Setup } from './attack.ts'

const secret = 'the-secret-that-stands-in-a-file'
const url = 'http://127.0.0.1:1'

/** Writes `files` and starts the command line with `args`. */
const withFiles =
  (files: { [name: string]: string }, args: string[], more: Partial<Setup> = {}) =>
  async (folder: string): Promise<Setup> => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return { args, ...more }
  }

/** Starts the command line beside a named pipe, which nobody writes into. */
const withPipe = (about: string, name: string, args: string[]): Attack => ({
  about,
  withinMs: 5000,
  setUp: async (folder) => {
    execFileSync('mkfifo', [join(folder, name)])
    return { args }
  },
})

/** Starts the command line, which must leave a file as it is. */
const keeps =
  (name: string, text: string, args: string[]) =>
  async (folder: string): Promise<Setup> => {
    writeFileSync(join(folder, name), text)
    return {
      args,
      check: () => (readFileSync(join(folder, name), 'utf8') === text ? undefined : `overwrote ${name}`),
    }
  }

/** Starts a run with a target file that holds a secret. */
const withTarget = (about: string, text: string): Attack => ({
  about,
  saysNot: showsSecret,
  setUp: withFiles({ 'target.yaml': text }, runTarget),
})

/** Verifies a signature with this text as the public key. */
const withKey = (about: string, text: string): Attack => ({ about, setUp: withFiles({ 'key.pem': text }, verifyKey) })

const target = `url: ${url}\nroot: { id: some-id, secret: "${secret}" }\n`
const baseline = '- scenario: sessions/race\n  reason: known\n'
const usage = [2]
const runTarget = ['run', '--target', 'target.yaml']
const runKnown = ['run', '--known', 'known.yaml']
const verifyKey = ['verify', '--header', 'svc-hmac-sha256 a;1;1;n;c2ln', '--body', '{}', '--public-key', 'key.pem']
const signing = ['sign', '--key-id', 'k', '--secret-env', 'SVC_KEY_SECRET']
const signingWithFile = ['sign', '--body', '{}', '--key-id', 'k', '--private-key', 'key.pem']
const showsSecret = new RegExp(secret)

/** Folder names that have a meaning in shells, globs and URLs. */
const oddFolders: { [id: string]: string } = {
  space: 'with space',
  round: '(round)',
  square: '[square]',
  curly: '{curly}',
  star: 'a*b',
  question: 'a?b',
  hash: 'a#b',
  percent: '100%',
}

/** Attacks through files, the disk and the place of installation. */
export const attacksOfFiles: Attacks = endingWith(usage, {
  'report-is-target-file': {
    about: 'a report that would overwrite the target file',
    saysNot: showsSecret,
    setUp: keeps('target.yaml', target, [...runTarget, '--report', 'json=target.yaml']),
  },
  'report-is-baseline': {
    about: 'a report that would overwrite the baseline',
    setUp: keeps('known.yaml', baseline, [...runKnown, '--url', url, '--report', 'json=known.yaml']),
  },
  'report-is-link-to-target': {
    about: 'the same through a symbolic link',
    setUp: async (folder) => {
      symlinkSync(join(folder, 'target.yaml'), join(folder, 'report.html'))
      return keeps('target.yaml', target, [...runTarget, '--report', 'html=report.html'])(folder)
    },
  },
  'two-reports-one-file': {
    about: 'two reports into one file',
    setUp: withFiles({}, ['run', '--report', 'json=a', '--report', 'html=a']),
  },
  'root-misspelt': {
    says: /root/,
    ...withTarget('a misspelt root in a target file, which holds a secret', target.replace('root', 'rot')),
  },
  'secret-behind-anchor': withTarget(
    'a secret after an anchor',
    `url: ${url}\nx: &s "${secret}"\nroot: { id: some-id, secret: *s }\n`,
  ),
  'secret-in-broken-yaml': withTarget(
    'YAML that does not parse at the line of the secret',
    `url: ${url}\nroot: { id: some-id, secret: "${secret}\n`,
  ),
  'baseline-includes-itself': {
    about: 'a baseline whose anchor contains itself',
    setUp: withFiles({ 'known.yaml': '&a [*a]\n' }, runKnown),
  },
  'billion-laughs': {
    about: 'YAML that grows a billionfold',
    setUp: withFiles(
      {
        'known.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
          .split('')
          .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`)
          .join('\n')}\n`,
      },
      runKnown,
    ),
  },
  'target-is-folder': {
    about: 'a folder as target file',
    setUp: async (folder) => {
      mkdirSync(join(folder, 'target.yaml'))
      return { args: runTarget }
    },
  },
  'target-is-pipe': withPipe('a named pipe as target file', 'target.yaml', runTarget),
  'target-of-100-megabytes': {
    about: 'a target file of 100 MB',
    setUp: async (folder) => {
      writeFileSync(join(folder, 'target.yaml'), 'url: x\n')
      truncateSync(join(folder, 'target.yaml'), 100 * 1024 * 1024)
      return { args: runTarget }
    },
  },
  'json-report-that-is-none': {
    about: '--failed with a file that is no report',
    setUp: withFiles({ 'report.json': '{"cases":7}' }, ['run', '--failed', 'report.json']),
  },
  'full-disk': {
    about: 'stdout on a full disk',
    setUp: async () => ({
      args: ['run', '--only', 'basic'],
      ...(existsSync('/dev/full') ? { stdoutFile: '/dev/full' } : {}),
    }),
  },
  'full-disk-of-serve': {
    about: 'the same for serve',
    withinMs: 5000,
    setUp: async () => ({ args: ['serve'], stdoutFile: '/dev/full' }),
  },
  'closed-pipe': {
    about: 'a reader that goes away, such as head',
    exits: [0, 2],
    setUp: async () => ({ args: ['list', '--json'], closesStdout: true }),
  },
  'private-key-is-pipe': withPipe('a named pipe as private key', 'key.pem', signingWithFile),
  'body-without-end-to-sign': {
    about: 'a device that never ends as body',
    withinMs: 5000,
    setUp: withFiles({}, [...signing, '--body-file', '/dev/zero']),
  },
  'slow-standard-input': {
    about: 'a body that comes late on standard input',
    exits: [0],
    withinMs: 5000,
    setUp: withFiles({}, signing, { stdin: { text: '{}', afterMs: 700 } }),
  },
  'standard-input-of-100-megabytes': {
    about: '100 MB on standard input',
    withinMs: 10_000,
    setUp: withFiles({}, signing, { stdin: { text: ' '.repeat(100 * 1024 * 1024), afterMs: 0 } }),
  },
  'baseline-of-a-client-is-pipe': withPipe('a named pipe as baseline of a client', 'known.yaml', [
    'client',
    '--known',
    'known.yaml',
    '--',
    'true',
  ]),
  ...Object.fromEntries(
    Object.entries(oddFolders).map(([id, name]): [string, Attack] => [
      `installed-in-${id}`,
      {
        about: `installed in a folder named "${name}"`,
        exits: [0],
        says: /Verdict: (inconclusive|conforms)/,
        // A copy of the package as an installation has it, its dependencies linked.
        setUp: async (folder) => {
          const home = join(folder, name, 'node_modules', 'svc-conformance')
          mkdirSync(home, { recursive: true })
          for (const part of ['dist', 'spec', 'fixtures', 'package.json'])
            execFileSync('cp', ['-R', join(packageRoot, part), join(home, part)])
          symlinkSync(join(packageRoot, 'node_modules'), join(home, 'node_modules'))
          return { args: ['run', '--only', 'basic'], bin: join(home, 'dist', 'suites', 'bin.js') }
        },
      },
    ]),
  ),
})

/** Key files and headers that are not what they should be. */
export const attacksOfKeys: Attacks = endingWith(usage, {
  'encrypted-private-key': {
    about: 'an encrypted private key',
    setUp: withFiles(
      { 'key.pem': pem('ENCRYPTED PRIVATE KEY', 'MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi') },
      signingWithFile,
    ),
  },
  'certificate-as-key': withKey(
    'a certificate where a public key belongs',
    pem('CERTIFICATE', 'MIIBszCCAVmgAwIBAgIUX'),
  ),
  'small-order-key': {
    exits: [1, 2],
    ...withKey('a public key of small order', publicKey(Buffer.from([1, ...Array(31).fill(0)]))),
  },
  'key-not-on-the-curve': withKey('a public key that is no point', publicKey(Buffer.alloc(32, 0x02))),
  'huge-header-to-diagnose': {
    about: 'a header of 1 MB to diagnose',
    exits: [1, 2, 3],
    setUp: withFiles({ 'header.txt': `svc-hmac-sha256 ${';'.repeat(1024 * 1024)}` }, [
      ...['diagnose', '--header', '@header.txt', '--body', '{}', '--secret-env', 'SVC_KEY_SECRET'],
    ]),
  },
})

function pem(what: string, base64: string): string {
  return `-----BEGIN ${what}-----\n${base64}\n-----END ${what}-----\n`
}

/** An ED25519 public key of these bytes (RFC 8410). */
function publicKey(bytes: Buffer): string {
  return pem('PUBLIC KEY', Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes]).toString('base64'))
}
