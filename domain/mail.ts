import { z } from 'zod';

/** What a customer calls a workspace or a person, as one line of 60 characters: no more of an email than a name. */
const nameInMail = (name: string): string =>
  name
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .replace(/^(.{59}).{2,}$/u, '$1…');
const Name = z.string().transform(nameInMail);

/** The product's own emails: what each is filled with. How they read is in `providers/mail/templates/`. */
export const MailData = {
  invitation: z.object({
    workspaceName: Name,
    invitedBy: Name.nullable(),
    role: z.enum(['org:admin', 'org:member']),
    link: z.url(),
    expiresAt: z.iso.datetime(),
  }),
  agencyInvitation: z.object({
    agencyName: Name,
    invitedBy: Name.nullable(),
    link: z.url(),
    expiresAt: z.iso.datetime(),
  }),
  replyAlert: z.object({
    workspaceName: Name,
    digest: z.boolean(),
    contacts: z.array(
      z.object({
        name: z.string(),
        address: z.string(),
        link: z.url(),
        replies: z.array(z.object({ text: z.string(), at: z.string() })),
      }),
    ),
    /** How many contacts found no room. */
    more: z.int(),
    turnOffLink: z.url(),
  }),
  notice: z.object({
    workspaceName: Name,
    title: z.string(),
    paragraphs: z.array(z.string()),
    sections: z.array(z.object({ heading: z.string(), paragraphs: z.array(z.string()) })).default([]),
    action: z.object({ label: z.string(), link: z.url() }).nullable(),
    turnOffLink: z.url(),
  }),
  lineDown: z.object({ workspaceName: Name, lineName: z.string(), since: z.iso.datetime() }),
} as const;

export type MailTemplate = keyof typeof MailData;
export const MailTemplate = z.enum(Object.keys(MailData) as [MailTemplate, ...MailTemplate[]]);

/** An email to write; its template says what `data` is. */
export type NewMail = {
  [T in MailTemplate]: {
    to: string;
    template: T;
    data: z.input<(typeof MailData)[T]>;
    /** One email for each key and workspace, however often it is asked for. */
    dedupeKey?: string;
  };
}[MailTemplate];
