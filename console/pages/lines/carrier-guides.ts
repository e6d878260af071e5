import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { locale } from '#console/lib/locale.ts';

type Carrier = ResponseOf<'GET /api/lines/carriers'>['carriers'][number];
type Guide = Pick<Carrier['guide'], 'title' | 'summary' | 'before' | 'after'>;
interface Texts {
  title?: MessageDescriptor;
  summary: MessageDescriptor;
  before: readonly MessageDescriptor[];
  after: readonly MessageDescriptor[];
}

/** What the API says in English, for other languages. A brand is its own title. */
const GUIDES: Record<string, Texts> = {
  simulated: {
    title: msg`Simulated carrier`,
    summary: msg`A number or address for trying things out; nobody is reached.`,
    before: [msg`Nothing is to be done: this carrier runs on this machine, and its messages reach nobody.`],
    after: [msg`A recipient whose number ends in 0005, or whose email address begins with reply, answers.`],
  },
  'twilio-operator': {
    title: msg`New number`,
    summary: msg`SMS from a number at Twilio that this installation gets for you.`,
    before: [],
    after: [],
  },
  twilio: {
    summary: msg`SMS and MMS from a number of your Twilio account.`,
    before: [
      msg`In the Twilio Console, open Phone Numbers, Manage, Active numbers, and choose a number that can send SMS. Buy one if there is none.`,
      msg`Open the start page of the account. Under Account Info, copy the Account SID and the Auth Token.`,
    ],
    after: [
      msg`In the Twilio Console, open Phone Numbers, Manage, Active numbers, and then the number.`,
      msg`Under Messaging Configuration, set “A message comes in” to Webhook, with the callback URL below and HTTP POST.`,
      msg`If the number is in a messaging service, set Integration of that service to “Defer to sender’s webhook”.`,
      msg`Save the configuration, and test the connection here.`,
    ],
  },
  telnyx: {
    summary: msg`SMS and MMS from a number of your Telnyx account.`,
    before: [
      msg`In the Telnyx Mission Control Portal, buy a number that can send SMS, or choose one.`,
      msg`Under Messaging, create a messaging profile for this number alone, and assign the number to it.`,
      msg`Under API Keys, create an API key, and copy the public key of the account.`,
    ],
    after: [
      msg`In the Mission Control Portal, open Messaging and the messaging profile of the number.`,
      msg`Under Inbound, enter the callback URL below as webhook URL, with webhook API version 2.`,
      msg`Save the profile, and test the connection here.`,
      msg`To have missed calls known, enter the same URL, with API version 2, as webhook URL of the Voice API application or SIP connection of the number.`,
    ],
  },
  linq: {
    summary: msg`iMessage and SMS through a number of your Linq account.`,
    before: [
      msg`In the Linq dashboard, choose the number that is to write, and copy it with its country code.`,
      msg`Create a token of the Partner API, and copy it.`,
    ],
    after: [msg`Linq was told the callback URL, as a webhook subscription for this number.`],
  },
  sendblue: {
    summary: msg`iMessage through a number of your Sendblue account.`,
    before: [
      msg`In the Sendblue dashboard, choose the number that is to write, and copy it with its country code.`,
      msg`Under API credentials, copy the API key and the API secret.`,
    ],
    after: [
      msg`Sendblue was told the callback URL; it is listed in the dashboard under Webhooks, as Receive.`,
    ],
  },
  bluebubbles: {
    summary: msg`iMessage and SMS through a Mac of yours.`,
    before: [
      msg`On a Mac that stays awake, sign in to Messages with the account that is to write, and send one message by hand.`,
      msg`Install the BlueBubbles Server (bluebubbles.app), grant it Full Disk Access and Accessibility, and set a server password.`,
      msg`In its settings, under Connection, choose a proxy service or a name of your own, so that the server has an https address. It is shown as Server URL.`,
    ],
    after: [
      msg`The server was told the callback URL; it is listed there under API & Webhooks.`,
      msg`Keep the Mac awake: in its Energy settings, prevent automatic sleeping.`,
    ],
  },
  smtp: {
    title: msg`A mailbox`,
    summary: msg`Email through the SMTP and IMAP servers of a mailbox of yours.`,
    before: [
      msg`Find the SMTP and the IMAP server of the mailbox in the help of its provider, under “email client” or “app” settings.`,
      msg`Where two-step verification is on, create an app password for Linepace: the usual password is refused.`,
      msg`Allow IMAP in the settings of the mailbox, so that replies can be read.`,
    ],
    after: [
      msg`Publish the SPF, DKIM and DMARC records of the domain; this page checks them.`,
      msg`Where no mailbox is read, enter the callback URL below as the inbound and the bounce webhook of the mail service.`,
    ],
  },
};

/** What somebody does at a carrier, in their language. */
export function guideOf({ provider, guide }: Carrier): Guide {
  const known = GUIDES[provider];
  if (locale === 'en' || !known) return guide;
  const words = (texts: readonly MessageDescriptor[]): string[] => texts.map((text) => i18n._(text));
  return {
    title: known.title ? i18n._(known.title) : guide.title,
    summary: i18n._(known.summary),
    before: words(known.before),
    after: words(known.after),
  };
}

const CERTIFICATES = msg`The certificates of the authority that signed those of the servers, in PEM format, if it is not a public one.`;
const OTHER_SENDER = msg`Where messages leave from another sender than the line.`;
const OTHER_SERVER = msg`Only for another server that speaks its API.`;

const HINTS: Record<string, MessageDescriptor> = {
  'bluebubbles.method': msg`The Private API requires its helper on the Mac; AppleScript requires nothing.`,
  'bluebubbles.password': msg`The server password.`,
  'bluebubbles.url': msg`The Server URL that the BlueBubbles server shows.`,
  'linq.apiKey': msg`The token of the Partner API, version 3.`,
  'linq.fromNumber': msg`The number at Linq, for example +14155550111.`,
  'sendblue.apiKeyId': msg`The key of the API, sb-api-key-id.`,
  'sendblue.apiSecretKey': msg`Its secret, sb-api-secret-key.`,
  'sendblue.fromNumber': msg`The number at Sendblue, for example +14155550111.`,
  'smtp.authservId': msg`The name under which the receiving mail server writes Authentication-Results, for example mx.google.com. For Microsoft 365 and Outlook.com, which write none: microsoft365. Without it, the topmost results count.`,
  'smtp.ehloName': msg`The host name with which the line greets its mail server. Default: that of this installation.`,
  'smtp.host': msg`The outgoing server, for example smtp.example.com.`,
  'smtp.imapUrl': msg`imaps://user:password@host:993/INBOX: where replies and bounces are read.`,
  'smtp.url': msg`smtps://user:password@host:465, instead of the five settings below.`,
  'telnyx.apiKey': msg`It begins with KEY.`,
  'telnyx.from': OTHER_SENDER,
  'telnyx.publicKey': msg`Of the account, in base64. It verifies webhooks.`,
  'twilio.accountSid': msg`It begins with AC.`,
  'twilio.sharedKeySecret': msg`Only if the account signs its webhooks with a SharedKey.`,
  'twilio.from': OTHER_SENDER,
  'twilio.messagingServiceSid': msg`Begins with MG, if the number is in a messaging service.`,
};

/** What a setting of a carrier is, in the reader's language. @param said what the API says, in English */
export function hintOf(provider: string, setting: string, said: string | undefined): string | undefined {
  const known = HINTS[`${provider}.${setting}`] ?? OF_ALL[setting];
  return locale === 'en' || said === undefined || !known ? said : i18n._(known);
}
const OF_ALL: Record<string, MessageDescriptor> = { baseUrl: OTHER_SERVER, caCertificates: CERTIFICATES };
