import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { writeSecretFile } from './secret-file.ts';

/** The content of `lively.json`: the workspace that the console of `npm start` opens, and what plays its month. */
export interface LivelyDemo {
  /** The live workspace, which stays bare. */
  workspaceId: string;
  /** Its twin for tests, in which everything happens. */
  testWorkspaceId: string;
  /** Of the owner, and of the colleague. */
  sessionToken: string;
  ownerId: string;
  colleagueId: string;
  /** Whether its month has been played to the end. */
  complete: boolean;
}

const fileOf = (dataDir: string): string => path.join(dataDir, 'lively.json');

/** @returns null if there is none. */
export async function readLively(dataDir: string): Promise<LivelyDemo | null> {
  const file = fileOf(dataDir);
  return existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as LivelyDemo) : null;
}

export const writeLively = (dataDir: string, lively: LivelyDemo): Promise<void> =>
  writeSecretFile(fileOf(dataDir), `${JSON.stringify(lively, null, 2)}\n`);
