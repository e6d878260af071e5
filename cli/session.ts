import type { Command } from 'commander';
import { Linepace } from '#sdk/typescript/src/index.ts';
import { globalOptions } from './output.ts';
import { credentials } from './profiles.ts';

/** The API client of a command's profile. */
export async function connect(command: Command): Promise<Linepace> {
  const { url, apiKey } = await credentials(globalOptions(command).profile);
  return new Linepace({ baseUrl: url, apiKey });
}
