import { spawnSync } from 'node:child_process';

export interface Keychain {
  /** @returns whether it was stored. */
  set(profile: string, apiKey: string): Promise<boolean>;
  get(profile: string): Promise<string | null>;
}

const SERVICE = 'linepace';

/** @returns the keychain of macOS, or the secret service of a Linux desktop; null if there is neither. */
export function openKeychain(): Keychain | null {
  if (process.env['LINEPACE_NO_KEYCHAIN'] === '1') return null;
  if (process.platform === 'darwin') return macOs;
  // Without a session bus there is no secret service to ask.
  return process.platform === 'linux' && process.env['DBUS_SESSION_BUS_ADDRESS'] ? secretService : null;
}

const macOs: Keychain = {
  // `security` takes the password as an argument only, which other users cannot see on macOS.
  set: async (profile, apiKey) =>
    run('security', ['add-generic-password', '-U', '-s', SERVICE, '-a', profile, '-w', apiKey]) !== null,
  get: async (profile) => run('security', ['find-generic-password', '-s', SERVICE, '-a', profile, '-w']),
};

const secretService: Keychain = {
  set: async (profile, apiKey) =>
    run(
      'secret-tool',
      ['store', `--label=Linepace ${profile}`, 'service', SERVICE, 'profile', profile],
      apiKey,
    ) !== null,
  get: async (profile) => run('secret-tool', ['lookup', 'service', SERVICE, 'profile', profile]),
};

/** @returns the output; null if the program is missing or failed. */
function run(program: string, args: string[], input?: string): string | null {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8', input, timeout: 10_000 });
  return status === 0 ? stdout.trim() : null;
}
