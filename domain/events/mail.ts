import { z } from 'zod';

/** Limits a user-supplied name to one line of 60 characters, so that it cannot carry a message of its own. */
const nameInMail = (name: string): string =>
  name
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .replace(/^(.{59}).{2,}$/u, '$1…');
const Name = z.string().transform(nameInMail);

/** The data of each system email. The texts are in `providers/mail/templates/`. */
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
  signInLink: z.object({ link: z.url(), minutes: z.int() }),
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
    /** The number of contacts that are not listed. */
    more: z.int(),
    turnOffLink: z.url(),
  }),
  notice: z.object({
    workspaceName: Name,
    title: z.string(),
    paragraphs: z.array(z.string()),
    sections: z.array(z.object({ heading: z.string(), paragraphs: z.array(z.string()) })).default([]),
    action: z.object({ label: z.string(), link: z.url() }).nullable(),
    otherAction: z.object({ label: z.string(), link: z.url() }).nullable().default(null),
    /** Why somebody gets it. */
    receivedAs: z.enum(['admin', 'reply_recipient']),
    turnOffLink: z.url(),
  }),
  ownerNotice: z.object({
    workspaceName: Name,
    title: z.string(),
    paragraphs: z.array(z.string()),
    link: z.url(),
  }),
  lineReputation: z.object({
    workspaceName: Name,
    lineName: z.string(),
    state: z.enum(['at_risk', 'critical']),
    score: z.int(),
    /** The terms that subtract most, as sentences. */
    reasons: z.array(z.string()),
  }),
  inboxUnreadable: z.object({
    workspaceName: Name,
    lineName: z.string(),
    since: z.iso.datetime(),
    reason: z.string(),
  }),
  lineDown: z.object({
    workspaceName: Name,
    lineName: z.string(),
    since: z.iso.datetime(),
    reason: z.string().optional(),
  }),
} as const;

export type MailTemplate = keyof typeof MailData;
export const MailTemplate = z.enum(Object.keys(MailData) as [MailTemplate, ...MailTemplate[]]);

/** An email to queue; `data` depends on the template. */
export type NewMail = {
  [T in MailTemplate]: {
    to: string;
    template: T;
    data: z.input<(typeof MailData)[T]>;
    /** At most one email is sent per workspace and key. */
    dedupeKey?: string;
  };
}[MailTemplate];
