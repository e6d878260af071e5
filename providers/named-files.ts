import { readFileSync } from 'node:fs';

/** Why a file that a variable of the environment names cannot be read; null: it can. */
export function whyUnreadable(file: string): string | null {
  try {
    readFileSync(file);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
