import { readFile } from 'node:fs/promises';
import { CommandFailed, EXIT } from './exit-code.ts';

/** Reads a file that the command line names. @throws CommandFailed if it cannot be read. */
export const readInput = (file: string): Promise<Buffer<ArrayBuffer>> =>
  readFile(file).catch((error: Error) => {
    throw new CommandFailed(`The file cannot be read: ${error.message}`, EXIT.USAGE);
  });
