import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { readMimeEmail, readPostedEmail, type Receiver } from '../carriers/smtp/inbound.ts';

/** The type of a file, detected from its content. */
export interface FoundType {
  ext: string;
  mime: string;
}

/**
 * The jobs that parse untrusted content. Only this file imports parsers for it. Jobs run in separate processes
 * (`processes.ts`), so inputs and results are plain data.
 */
export const jobs = {
  /** Parses the body of an email service's webhook call. */
  postedEmail: ({ rawBody, receiver }: { rawBody: string; receiver: Receiver }): CarrierEvent[] =>
    readPostedEmail(rawBody, receiver),

  /** Parses an email of a mailbox. @param isWhole false if it is truncated. */
  mimeEmail: ({
    source,
    isWhole,
    receiver,
  }: {
    source: Uint8Array;
    isWhole: boolean;
    receiver: Receiver;
  }): Promise<CarrierEvent[]> => readMimeEmail(source, isWhole, receiver),

  /** @returns null if the type is not recognized. */
  async typeOfContent(content: Uint8Array): Promise<FoundType | null> {
    return (await fileTypeFromBuffer(content)) ?? null;
  },

  /** @param path in the scratch folder. @returns null if the type is not recognized. */
  async typeOfFile(path: string): Promise<FoundType | null> {
    return (await fileTypeFromFile(path)) ?? null;
  },
};

export type Jobs = typeof jobs;
export type JobName = keyof Jobs;
export type Input<Name extends JobName> = Parameters<Jobs[Name]>[0];
export type Output<Name extends JobName> = Awaited<ReturnType<Jobs[Name]>>;
