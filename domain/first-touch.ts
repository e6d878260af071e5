/** A web address in a text: with a scheme, `www.`, or a name of a public suffix that people link to. */
const LINK =
  /\bhttps?:\/\/|\bwww\.|\b[a-z0-9-]+\.(com|net|org|io|co|me|app|ly|gl|link|shop|info|biz|de|fr|es|it|uk|eu)\b(\/|\s|$|[.,!?)])/i;

export const hasLink = (text: string): boolean => LINK.test(text.replaceAll(/\S+@\S+/g, ' '));

/** What makes a first message look like advertising: a link or a file. */
export const isLinked = ({
  body,
  attachmentUrls,
}: {
  body: string;
  attachmentUrls: readonly string[];
}): boolean => attachmentUrls.length > 0 || hasLink(body);
