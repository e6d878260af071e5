import { MAX_BODY_LENGTH } from './message.ts';
import { renderTemplate, type TemplateBudget, TemplateError, type TemplateLead } from './template.ts';
import { isBlank, isLonger } from '../base/text.ts';

/** The rendered text, or the `errorMessage` of the message that fails because of it. */
export type OutgoingText =
  | { text: string }
  | { reason: TemplateError['reason'] | 'empty_message' | 'message_too_long' };

/**
 * Renders a message for sending. An empty text is valid only with files. Line ends become `\n`, as phones and carriers store them, so
 * that the text can be compared with what they list.
 */
export function outgoingText(
  template: string,
  lead: TemplateLead | null,
  files: number,
  budget?: TemplateBudget,
): OutgoingText {
  return renderedText(() => renderTemplate(template, lead, budget), files);
}

/** The same of a text that `render` renders, or has rendered before. */
export function renderedText(render: () => string, files: number): OutgoingText {
  let text: string;
  try {
    text = render().replaceAll(/\r\n?/g, '\n');
  } catch (error) {
    if (error instanceof TemplateError) return { reason: error.reason };
    throw error;
  }
  if (isLonger(text, MAX_BODY_LENGTH)) return { reason: 'message_too_long' };
  return files === 0 && isBlank(text) ? { reason: 'empty_message' } : { text };
}

/** The text of a fallback SMS: the first of its texts that is not blank. */
export const fallbackText = (
  message: { body: string; smsFallbackMessage: string | null },
  account: { defaultMessage: string | null } | null,
): string =>
  [message.smsFallbackMessage, account?.defaultMessage ?? null].find(
    (text) => text !== null && !isBlank(text),
  ) ?? message.body;
