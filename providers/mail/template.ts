import type { z } from 'zod';
import { MailData, type MailTemplate } from '#domain/mail.ts';
import type { Html } from './html.ts';

type Data<T extends MailTemplate> = z.output<(typeof MailData)[T]>;

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
  /** Where a one-click unsubscribe is posted (RFC 8058): of emails that can be turned off. */
  turnOffLink?: string;
}

/** Fills a template. @throws ZodError when the data is not what it is filled with. */
export type Render = (data: unknown) => RenderedMail;

/** One kind of email: how it reads as text, and the same as HTML. */
export function template<T extends MailTemplate>(
  name: T,
  {
    subject,
    text,
    html,
  }: { subject(data: Data<T>): string; text(data: Data<T>): string; html(data: Data<T>): Html },
): Render {
  return (data) => {
    const filled = MailData[name].parse(data) as Data<T>;
    return {
      // A header is one line, whatever name somebody gave a workspace.
      subject: subject(filled).replaceAll(/\s+/g, ' '),
      text: text(filled),
      html: html(filled).text,
      ...('turnOffLink' in filled && { turnOffLink: filled.turnOffLink }),
    };
  };
}
