import type { z } from 'zod';
import { MailData, type MailTemplate } from '#domain/events/mail.ts';
import type { Html } from './html.ts';

type Data<T extends MailTemplate> = z.output<(typeof MailData)[T]>;

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
  /** The one-click unsubscribe URL (RFC 8058) of emails that can be turned off. */
  turnOffLink?: string;
}

/** Renders a template. @throws ZodError if the data does not match. */
export type Render = (data: unknown) => RenderedMail;

/** An email as text and as HTML. */
export function template<T extends MailTemplate>(
  name: T,
  {
    subject,
    text,
    html,
  }: { subject(data: Data<T>): string; text(data: Data<T>): string; html(data: Data<T>): Html },
): Render {
  return (data) => {
    const parsed = MailData[name].parse(data) as Data<T>;
    return {
      // A header must be a single line.
      subject: subject(parsed).replaceAll(/\s+/g, ' '),
      text: text(parsed),
      html: html(parsed).text,
      ...('turnOffLink' in parsed && { turnOffLink: parsed.turnOffLink }),
    };
  };
}
