/**
 * A web address in a text: with a scheme, `www.`, or a name of a public suffix that people link to. Takes time proportional to
 * the text, as does `EMAIL`, because neither looks for the end of a word from each of its characters.
 */
const LINK =
  /\bhttps?:\/\/|\bwww\.|[a-z0-9]-*\.(com|net|org|io|co|me|app|ly|gl|link|shop|info|biz|de|fr|es|it|uk|eu)\b(\/|\s|$|[.,!?)])/i;

const EMAIL = /(?<!\S)\S+@\S+/g;

export const hasLink = (text: string): boolean => LINK.test(text.replaceAll(EMAIL, ' '));

/** Whether a first message looks like advertising, because it contains a link or a file. */
export const isLinked = ({
  body,
  attachmentUrls,
}: {
  body: string;
  attachmentUrls: readonly string[];
}): boolean => attachmentUrls.length > 0 || hasLink(body);
