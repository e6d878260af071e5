import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { variable } from './environment.ts';
import { CommandFailed, EXIT } from './exit-code.ts';
import { objectOf, parseJson, textIn } from './json.ts';
import { openKeychain } from './keychain.ts';

/** Where a server is, and as whom to call it. Named, so that one person works with several. */
export interface Profile {
  url: string;
  /** Only where there is no keychain: the file has the mode 0600. */
  apiKey?: string;
}

interface Settings {
  current: string;
  profiles: Record<string, Profile>;
}

export interface Credentials {
  url: string;
  apiKey: string;
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).hostname : null);

export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url);

/** The address of a server as others are appended to it. */
export const serverOf = (url: string): string => url.replace(/\/+$/, '');

/** Whether a server is on this machine. */
export const isLoopback = (url: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostOf(url) ?? '');

const isSameServer = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin;

/** A key is sent over an encrypted connection, or stays on this machine. @throws CommandFailed */
export function requireSafe(url: string): void {
  if (!isWebAddress(url))
    throw new CommandFailed(`${url} is not a URL that begins with https:// or http://`, EXIT.USAGE);
  if (new URL(url).protocol !== 'https:' && !isLoopback(url))
    throw new CommandFailed(`${url} is not https: the key would be sent unencrypted`, EXIT.USAGE);
}

/** A header cannot contain other characters, so the request would fail as if the server did not respond. @throws CommandFailed */
export function requireKey(apiKey: string, source: string): void {
  if (!/^[!-~]+$/.test(apiKey.trim()))
    throw new CommandFailed(
      `The key from ${source} is empty, or contains characters that no key has`,
      EXIT.USAGE,
    );
}

const folder = (): string => join(variable('XDG_CONFIG_HOME') ?? join(homedir(), '.config'), 'linepace');
const file = (): string => join(folder(), 'config.json');

/** @throws CommandFailed */
async function readSettings(): Promise<Settings> {
  const text = await readFile(file(), 'utf8').catch(() => null);
  if (text === null) return { current: 'default', profiles: {} };
  const settings = objectOf(parseJson(text));
  const stored = objectOf(settings?.['profiles']);
  if (!stored)
    throw new CommandFailed(`${file()} is damaged: delete it, and sign in again`, EXIT.UNAVAILABLE);
  const profiles = Object.entries(stored).flatMap(([name, value]): [string, Profile][] => {
    const profile = objectOf(value);
    const [url, apiKey] = [textIn(profile, 'url'), textIn(profile, 'apiKey')];
    return url === undefined ? [] : [[name, { url, ...(apiKey !== undefined && { apiKey }) }]];
  });
  return { current: textIn(settings, 'current') ?? 'default', profiles: Object.fromEntries(profiles) };
}

async function writeSettings(settings: Settings): Promise<void> {
  await mkdir(folder(), { recursive: true, mode: 0o700 });
  await writeFile(file(), `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  // An existing file keeps its mode.
  await chmod(file(), 0o600);
}

/** Stores the key in the system's keychain, else in the file. The profile becomes the current one. */
export async function saveProfile({
  profile,
  url,
  apiKey,
}: Credentials & { profile: string }): Promise<'keychain' | 'file'> {
  const { profiles } = await readSettings();
  const isStored = await openKeychain()?.set(profile, apiKey);
  await writeSettings({
    current: profile,
    profiles: { ...profiles, [profile]: { url, ...(isStored !== true && { apiKey }) } },
  });
  return isStored === true ? 'keychain' : 'file';
}

/**
 * The credentials of a command: `LINEPACE_API_KEY` and `LINEPACE_URL`, else those of the profile.
 * @param name the profile; undefined: the current one.
 * @throws CommandFailed if nobody has signed in.
 */
export async function credentials(name?: string): Promise<Credentials & { keySource: string }> {
  const { current, profiles } = await readSettings();
  const profile = name ?? variable('LINEPACE_PROFILE') ?? current;
  const known = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
  const url = serverOf(variable('LINEPACE_URL') ?? known?.url ?? 'http://localhost:3000');
  const ownKey = variable('LINEPACE_API_KEY');
  requireSafe(url);
  // The environment may come from a file in somebody else's folder.
  if (ownKey === undefined && known !== undefined && !isSameServer(url, known.url))
    throw new CommandFailed(
      `The key of the profile ${profile} was stored for ${known.url}, and LINEPACE_URL names another server: sign in there, or set LINEPACE_API_KEY`,
      EXIT.USAGE,
    );
  const apiKey = ownKey ?? known?.apiKey ?? (await openKeychain()?.get(profile));
  if (!apiKey)
    throw new CommandFailed(
      `Nobody has signed in to the profile ${profile}: run \`linepace login\`, or set LINEPACE_API_KEY`,
      EXIT.UNAVAILABLE,
    );
  const keySource = ownKey === undefined ? `the profile ${profile}` : 'LINEPACE_API_KEY';
  requireKey(apiKey, keySource);
  return { url, apiKey, keySource };
}

export async function profileNames(): Promise<{ name: string; url: string; isCurrent: boolean }[]> {
  const { current, profiles } = await readSettings();
  return Object.entries(profiles).map(([name, { url }]) => ({ name, url, isCurrent: name === current }));
}
