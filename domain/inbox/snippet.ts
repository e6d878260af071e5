import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Id } from '../base/ids.ts';
import { TemplateText } from '../messages/message.ts';
import { NOT_BLANK } from '../base/text.ts';

const fields = {
  name: requiredLine(100),
  text: TemplateText.refine(...NOT_BLANK).meta({
    description:
      "A Liquid template over the lead's fields. It is rendered when it is sent as the text of a message or a reply.",
  }),
};

/** The body of `POST /api/snippets`. */
export const SnippetInput = z.object(fields).meta({ id: 'SnippetInput' });
export type SnippetInput = z.infer<typeof SnippetInput>;

/** The body of `PATCH /api/snippets/{id}`. */
export const SnippetPatch = z.object(fields).partial().meta({ id: 'SnippetPatch' });
export type SnippetPatch = z.infer<typeof SnippetPatch>;

/** A text that the members of a workspace write often. */
export const Snippet = z
  .object({
    _id: Id,
    name: z.string(),
    text: z.string(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Snippet' });
export type Snippet = z.infer<typeof Snippet>;
