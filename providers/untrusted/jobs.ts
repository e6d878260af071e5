import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import { readMimeEmail, readPostedEmail } from '../carriers/smtp-inbound.ts';

/** What a file is, by its content. */
export interface FoundType {
  ext: string;
  mime: string;
}

/**
 * All work on content that strangers send: the only place that loads parsers of it. Each job runs in a process of its
 * own (`processes.ts`), so inputs and results are plain data.
 */
export const jobs = {
  /** What a webhook call of an email service says: the text of its body. */
  postedEmail: (rawBody: string): CarrierEvent[] => readPostedEmail(rawBody),

  /** What an email of a mailbox says. @param isWhole false: it breaks off. */
  mimeEmail: ({ source, isWhole }: { source: Uint8Array; isWhole: boolean }): Promise<CarrierEvent[]> =>
    readMimeEmail(source, isWhole),

  /** @returns null when nothing is recognized in it. */
  async typeOfContent(content: Uint8Array): Promise<FoundType | null> {
    return (await fileTypeFromBuffer(content)) ?? null;
  },

  /** @param path below the folder for files that are being converted. @returns null when nothing is recognized in it. */
  async typeOfFile(path: string): Promise<FoundType | null> {
    return (await fileTypeFromFile(path)) ?? null;
  },
};

export type Jobs = typeof jobs;
export type JobName = keyof Jobs;
export type Input<Name extends JobName> = Parameters<Jobs[Name]>[0];
export type Output<Name extends JobName> = Awaited<ReturnType<Jobs[Name]>>;
