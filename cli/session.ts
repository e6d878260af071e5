import type { Command } from 'commander';
import { Linepace } from '#sdk/typescript/src/index.ts';
import { globalOptions } from './output.ts';
import { type Credentials, credentials } from './profiles.ts';

/** The API client of a command's profile. */
export async function connect(command: Command): Promise<Linepace> {
  return clientOf(await credentials(globalOptions(command).profile));
}

export const clientOf = ({ url, apiKey }: Credentials): Linepace => new Linepace({ baseUrl: url, apiKey });
